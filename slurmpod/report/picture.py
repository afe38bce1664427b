"""The picture of an environment: resolved -> boxes and lines with coordinates. Pure.

Cards of groups, file systems and databases are side by side, zone by zone. Each flow is a lane
across them, above or below; everything that takes part is tied to it, as to a bus. So the picture
stays readable with many flows. `templates/report/environment.svg.j2` draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slurmpod.problems import counted
from slurmpod.report.cards import Card, cards_of
from slurmpod.report.flows import AWS, DIRECTORY, INTERNET, PEOPLE, S3, Flow, Side, flows
from slurmpod.resolve import Resolved, Subnet

CARD_WIDTH, CARD_HEIGHT, GAP = 132.0, 104.0, 16.0
GUTTER = 150.0
"""Space to the left of the cards, for the names of lanes."""
LANE = 30.0
PADDING = 16.0
SUBNET_TITLE, PUBLIC_HEIGHT = 46.0, 50.0
OUTSIDE_HEIGHT, OUTSIDE_GAP = 56.0, 28.0
VPC_TITLE = 30.0
LONGEST = 20
"""The most characters in a line of a card."""


@dataclass(frozen=True)
class Box:
    """A rectangle with a title and lines of text; `kind` is a class of the style sheet.

    `full` is the unshortened text; `indent` is the distance from its left edge to its text.
    """

    kind: str
    x: float
    y: float
    width: float
    height: float
    title: str
    lines: tuple[str, ...] = ()
    full: str = ""
    indent: float = 12.0

    @property
    def text_x(self) -> float:
        """The x coordinate of its text."""
        return self.x + self.indent

    @property
    def middle(self) -> float:
        """The x coordinate where lines from above and below meet it."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Tie:
    """A line between a lane and a box, at one x."""

    x: float
    top: float
    bottom: float
    is_at_top: bool
    """Whether its upper end is at the lane, which has a dot there."""


@dataclass(frozen=True)
class Lane:
    """A flow as a line; its number selects the colour."""

    number: int
    flow: Flow
    y: float
    left: float
    right: float
    ties: tuple[Tie, ...]


@dataclass(frozen=True)
class Picture:
    """The shapes to draw, outer boxes first; `words` is the text for screen readers."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lanes: tuple[Lane, ...]
    words: str


def picture_of(resolved: Resolved) -> Picture:
    """Lay out the picture of an environment."""
    found = flows(resolved)
    above = [flow for flow in found if flow.side is Side.ABOVE]
    below = [flow for flow in found if flow.side is not Side.ABOVE]
    outside = [flow for flow in found if flow.side is Side.BELOW]
    rows = _rows(resolved, len(above), len(below))
    by_id, zones, right = _placed(cards_of(resolved), resolved, rows.cards)
    width = right + PADDING * 2
    ends = {
        **_ends_above(resolved, above, width),
        **_ends_below(resolved, outside, rows.outside, width),
    }
    lanes = (
        *_lanes(above, rows.lanes_above, 0, by_id, ends),
        *_lanes(below, rows.lanes_below, len(above), by_id, ends),
    )
    height = (rows.outside + OUTSIDE_HEIGHT if outside else rows.vpc_end) + PADDING
    frames = _frames(resolved, rows, zones, width)
    boxes = (*frames, *ends.values(), *dict.fromkeys(by_id.values()))
    return Picture(width, height, boxes, lanes, _words(resolved))


@dataclass(frozen=True)
class _Rows:
    """The y coordinates of the rows, and of the ends of the frames around them."""

    vpc: float
    public: float
    private: float
    lanes_above: float
    cards: float
    lanes_below: float
    private_end: float
    vpc_end: float
    outside: float


def _rows(resolved: Resolved, above: int, below: int) -> _Rows:
    """Stack the rows of a picture, with this many lanes above and below the cards."""
    vpc = PADDING + OUTSIDE_HEIGHT + OUTSIDE_GAP
    public = vpc + VPC_TITLE
    private = public + (PUBLIC_HEIGHT + GAP if resolved.network.public else 0)
    cards = private + SUBNET_TITLE + LANE * above + 10
    lanes_below = cards + CARD_HEIGHT + LANE
    private_end = lanes_below + LANE * max(below, 1)
    vpc_end = private_end + PADDING
    return _Rows(
        vpc=vpc,
        public=public,
        private=private,
        lanes_above=private + SUBNET_TITLE + 8,
        cards=cards,
        lanes_below=lanes_below,
        private_end=private_end,
        vpc_end=vpc_end,
        outside=vpc_end + OUTSIDE_GAP,
    )


def _frames(
    resolved: Resolved, rows: _Rows, zones: Mapping[str, tuple[float, float]], width: float
) -> Iterator[Box]:
    yield Box(
        kind="vpc",
        x=PADDING,
        y=rows.vpc,
        width=width - 2 * PADDING,
        height=rows.vpc_end - rows.vpc,
        title=_vpc(resolved),
        indent=GUTTER + 12,
    )
    yield from _public(resolved, zones, rows.public)
    yield from _private(resolved, zones, rows.private, rows.private_end - rows.private)


def _vpc(resolved: Resolved) -> str:
    network = resolved.network
    if network.existing:
        return f"VPC {network.existing.vpc_id} (existing)"
    cidrs = ", ".join(map(str, (network.vpc_cidr, *network.secondary_cidrs)))
    return f"VPC {cidrs}{', closed: no way to the internet' if network.closed else ''}"


def _words(resolved: Resolved) -> str:
    groups = ", ".join(
        f"{each.name} ({each.count} x {each.instance_type}, {each.role})"
        for each in resolved.groups
    )
    return f"{_vpc(resolved)} in {resolved.region} with the groups {groups}"


def _placed(
    cards: Iterator[Card], resolved: Resolved, top: float
) -> tuple[dict[str, Box], dict[str, tuple[float, float]], float]:
    """Place cards from left to right, zone by zone.

    Return boxes by the ids of their cards, left and right ends of zones, and the right end.
    """
    by_zone: dict[str, list[Card]] = {zone: [] for zone in resolved.network.zones}
    for card in cards:
        by_zone.setdefault(card.zone, []).append(card)
    boxes: dict[str, Box] = {}
    zones: dict[str, tuple[float, float]] = {}
    x = PADDING + GUTTER
    for zone, members in by_zone.items():
        left = x
        x += PADDING
        for card in members:
            box = _box(card, x, top)
            boxes |= dict.fromkeys(card.ids, box)
            x += CARD_WIDTH + GAP
        x = max(x - GAP, left + CARD_WIDTH) + PADDING
        zones[zone] = (left, x)
        x += GAP
    return boxes, zones, x - GAP


def _box(card: Card, x: float, top: float) -> Box:
    lines = tuple(_short(line) for line in card.lines if line)
    full = ", ".join((card.title, *filter(None, card.lines)))
    return Box(card.kind, x, top, CARD_WIDTH, CARD_HEIGHT, _short(card.title, 15), lines, full)


def _short(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _public(
    resolved: Resolved, zones: Mapping[str, tuple[float, float]], top: float
) -> Iterator[Box]:
    for index, subnet in enumerate(resolved.network.public):
        has_gateway = index < resolved.network.nat_gateways
        what = (*_cidr(subnet), "NAT gateway") if has_gateway else _cidr(subnet)
        yield _frame("public", subnet, zones, top, PUBLIC_HEIGHT, " · ".join(what))


def _private(
    resolved: Resolved, zones: Mapping[str, tuple[float, float]], top: float, height: float
) -> Iterator[Box]:
    for subnet in resolved.network.private:
        yield _frame("private", subnet, zones, top, height, *_cidr(subnet))


def _frame(
    kind: str,
    subnet: Subnet,
    zones: Mapping[str, tuple[float, float]],
    top: float,
    height: float,
    *lines: str,
) -> Box:
    left, right = zones[subnet.zone]
    return Box(kind, left, top, right - left, height, f"{kind} · {subnet.zone}", lines)


def _cidr(subnet: Subnet) -> tuple[str, ...]:
    where = subnet.cidr or subnet.id
    return (str(where),) if where else ()


def _ends_above(resolved: Resolved, above: Sequence[Flow], width: float) -> dict[str, Box]:
    """Return people and the internet, at the two ends above the VPC."""
    ends: dict[str, Box] = {}
    names = {end for flow in above for end in flow.ends}
    top = PADDING
    if PEOPLE in names:
        count = len(resolved.access.users)
        who = counted(count, "user") if count else "anyone with session access"
        ends[PEOPLE] = Box("outside", PADDING + 20, top, 220, OUTSIDE_HEIGHT, "People", (who,))
    if INTERNET in names:
        x = width - PADDING - 12 - 200
        ends[INTERNET] = Box("outside", x, top, 200, OUTSIDE_HEIGHT, "Internet", ("outward only",))
    return ends


def _ends_below(
    resolved: Resolved, outside: Sequence[Flow], top: float, width: float
) -> dict[str, Box]:
    """Return the services outside the VPC that it uses, side by side."""
    titles = {
        S3: ("Amazon S3", "scripts and data"),
        AWS: ("AWS APIs", f"{len(resolved.network.interface_endpoints)} interface endpoints"),
        DIRECTORY: ("Directory", "LDAP"),
    }
    names = [end for flow in outside for end in flow.ends]
    each = (width - 2 * PADDING - GUTTER - GAP * (len(names) - 1)) / max(len(names), 1)
    each = min(each, 220.0)
    ends = {}
    for index, name in enumerate(names):
        title, line = titles.get(name, ("MariaDB", _short(name, 26)))
        x = PADDING + GUTTER + index * (each + GAP)
        ends[name] = Box("outside", x, top, each, OUTSIDE_HEIGHT, title, (line,), name)
    return ends


def _lanes(
    found: Sequence[Flow],
    top: float,
    first: int,
    cards: Mapping[str, Box],
    ends: Mapping[str, Box],
) -> Iterator[Lane]:
    """Give each flow its own line, and tie everything that takes part to it."""
    for index, flow in enumerate(found):
        y = top + index * LANE
        number = first + index
        inner = [cards[name] for name in (*flow.groups, *flow.ends) if name in cards]
        ties = [_tie(box, _spread(box, number), y) for box in dict.fromkeys(inner)] + [
            _tie(ends[name], ends[name].middle, y) for name in flow.ends if name in ends
        ]
        left = min([PADDING + 10, *(tie.x for tie in ties)])
        right = max(tie.x for tie in ties)
        yield Lane(number, flow, y, left, right, tuple(ties))


def _spread(box: Box, number: int) -> float:
    """Return where a lane is tied to a box: each lane has its own place along it."""
    return box.x + 18 + (number % 8) * (box.width - 36) / 7


def _tie(box: Box, x: float, y: float) -> Tie:
    if box.y > y:
        return Tie(x, y, box.y, is_at_top=True)
    return Tie(x, box.y + box.height, y, is_at_top=False)
