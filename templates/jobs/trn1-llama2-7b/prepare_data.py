"""Convert texts into training tokens for Llama 2: blocks of one length, on shared storage.

Texts are lines of JSON with a key `text`, as in RedPajama. The tokenizer comes from Hugging Face
with the token in $HF_TOKEN, which Meta's licence requires; it is not stored.
"""

from __future__ import annotations

import argparse
import shutil
from itertools import chain
from pathlib import Path

import datasets
import transformers

TOKENIZER = Path("tokenizer")


def main(options: argparse.Namespace) -> None:
    """Write the blocks; the folder gets its name only when all of them are there."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.tokenizer)
    tokenizer.save_pretrained(TOKENIZER)
    texts = datasets.load_dataset("json", data_files=options.texts, split="train")

    def tokens(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        return blocks(tokenizer(batch["text"])["input_ids"], options.sequence_length)

    tokenized = texts.map(
        tokens, batched=True, remove_columns=texts.column_names, num_proc=options.processes
    )
    if len(tokenized) < options.least_blocks:
        raise SystemExit(f"{len(tokenized)} blocks are less than a step's {options.least_blocks}")
    part = options.to.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    tokenized.save_to_disk(part)
    part.rename(options.to)
    print(f"{len(tokenized)} blocks of {options.sequence_length} tokens", flush=True)


def blocks(texts: list[list[int]], length: int) -> dict[str, list[list[int]]]:
    """Return the concatenated tokens of all texts, cut into blocks; the rest is left out.

    Each token is predicted from those before it, so the labels are the tokens.
    """
    tokens = list(chain.from_iterable(texts))
    cut = [tokens[first : first + length] for first in range(0, len(tokens) - length + 1, length)]
    seen = [[1] * length for _ in cut]
    return {"input_ids": cut, "attention_mask": seen, "labels": [list(each) for each in cut]}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--texts", required=True, help="files with lines of JSON")
    parser.add_argument("--tokenizer", required=True, help="its name on Hugging Face")
    parser.add_argument("--sequence-length", type=int, required=True)
    parser.add_argument("--least-blocks", type=int, required=True, help="samples of a step")
    parser.add_argument("--to", type=Path, required=True, help="the folder for the blocks")
    parser.add_argument("--processes", type=int, default=16)
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())
