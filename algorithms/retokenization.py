"""From one tokenizer's ids to the other's, by text: the string level on which SLEM and SLRS stand.

Everything here shapes *candidates* only. The target conditions on its own committed ids, which are never re-encoded;
that is what makes SLEM exact whatever the tokenizers do (claim SLEM-1).
"""

from collections.abc import Sequence

from draftproof.algorithms.interfaces import Tokenizer

WINDOW = 16
"""How many committed ids are re-encoded together with the draft, so that merges across the border are seen."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def continuation(tokenizer: Tokenizer, context: Sequence[int], drafted: Sequence[int]) -> str:
    """The text that `drafted` adds after `context`, without characters whose bytes are still incomplete.

    Decoding both together and cutting the first off keeps the spaces that decoders drop at the start of a text.
    """
    before = tokenizer.decode(tuple(context[-WINDOW:])).rstrip(REPLACEMENT)
    together = tokenizer.decode(tuple(context[-WINDOW:]) + tuple(drafted)).rstrip(REPLACEMENT)
    if together.startswith(before):
        return together[len(before) :]
    return tokenizer.decode(tuple(drafted)).rstrip(REPLACEMENT)


def candidates(tokenizer: Tokenizer, committed: Sequence[int], text: str) -> tuple[int, ...]:
    """Target ids that would spell `text` after `committed`: the longest-overlap heuristic.

    (Section 3.2 of Timor et al. 2502.05202.) A window of committed ids is re-encoded together with the text; the
    longest run of ids that ends the window and recurs in the result is looked for, nearest to its old place, and what
    follows it is kept. Without such a run the text is encoded alone.
    """
    if not text:
        return ()
    window = tuple(committed[-WINDOW:])
    ids = tokenizer.encode(tokenizer.decode(window) + text)
    overlap, _, end = max(
        ((_shared_tail(window, ids[:end]), -abs(end - len(window)), end) for end in range(1, len(ids) + 1)),
        default=(0, 0, 0),
    )
    if overlap:
        return ids[end:]
    return tokenizer.encode(text) if tokenizer.decode(window) else ids


def _shared_tail(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    length = 0
    while length < min(len(left), len(right)) and left[-1 - length] == right[-1 - length]:
        length += 1
    return length
