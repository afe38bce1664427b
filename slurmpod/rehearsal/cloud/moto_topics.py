"""SNS of the embedded AWS keeps to this computer.

The web addresses that an environment names belong to people who are not to be told of a rehearsal;
only those of the loopback interface get messages. moto sends no mail.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost")
WEB = ("http", "https")


def patch_topics() -> None:
    """Let messages go to queues and to this computer; doing so again changes nothing."""
    from moto.sns.models import Subscription

    if hasattr(Subscription.publish, "moto_publish"):
        return
    moto_publish = Subscription.publish

    def publish(subscription: Any, *args: Any, **kwargs: Any) -> None:
        """Send a message as moto does, unless it would leave this computer."""
        is_web = subscription.protocol in WEB
        if not is_web or urlsplit(subscription.endpoint).hostname in LOOPBACK:
            moto_publish(subscription, *args, **kwargs)

    publish.moto_publish = moto_publish  # type: ignore[attr-defined]
    Subscription.publish = publish  # type: ignore[assignment,method-assign]
