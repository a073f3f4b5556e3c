"""What the tests share: a deterministic hypothesis, and toys small enough to enumerate."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st

from draftproof.algorithms.autoregressive import Autoregressive
from draftproof.algorithms.decoding import Decoder, State, Step
from draftproof.algorithms.exact_law import ExactLaw
from draftproof.algorithms.interfaces import LanguageModel, Query, WrappedModel
from draftproof.algorithms.laws import Law
from draftproof.algorithms.models.table import TableModel
from draftproof.algorithms.models.toy_tokenizer import ToyTokenizer
from draftproof.algorithms.requests import Choose, Program
from draftproof.algorithms.slem import ModelDrafter, Slem
from draftproof.algorithms.slrs import Slrs
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.algorithms.string_law import FirstToken, FixedLookahead, StopAtLength
from draftproof.algorithms.tensor_law import TensorLaw
from draftproof.algorithms.tli import tli
from draftproof.algorithms.union import union
from draftproof.verify.exact import law_of, output_law

settings.register_profile("draftproof", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("draftproof")

STRINGS: tuple[str, ...] = ("a", "b", "ab", "ba", "aa", "bb", "aba")

Rows = Mapping[tuple[int, ...], Mapping[int, Fraction]]


@dataclass(frozen=True)
class Toy:
    """Two table models with context-dependent rows, and their tokenizers."""

    target: LanguageModel
    tokenizer: ToyTokenizer
    drafter: LanguageModel
    draft_tokenizer: ToyTokenizer


@dataclass(frozen=True)
class Floats(WrappedModel):
    """A table model whose laws are handed out as float64 tensors."""

    model: LanguageModel

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        return [[tensor_law(law) for law in laws] for laws in self.model.laws(queries)]


class Counting(WrappedModel):
    """A model that notes every call and its queries."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.calls: list[tuple[Query, ...]] = []

    def laws(self, queries: Sequence[Query]) -> list[list[Law]]:
        self.calls.append(tuple(queries))
        return self.model.laws(queries)


class Cycle:
    """Coins that repeat a list for ever; `tossed` is what a script needs to replay the run."""

    def __init__(self, uniforms: Iterable[float]) -> None:
        self.uniforms = tuple(uniforms)
        self.tossed: list[float] = []

    def toss(self) -> float:
        self.tossed.append(self.uniforms[len(self.tossed) % len(self.uniforms)])
        return self.tossed[-1]


def tensor_law(law: Law, dtype: torch.dtype = torch.float64) -> TensorLaw:
    return TensorLaw(torch.tensor([float(law[token]) for token in range(law.size)], dtype=dtype))


def exact(*masses: object) -> ExactLaw:
    """The law with these masses on ids 0, 1, ...: numbers, or strings such as "1/3"."""
    return ExactLaw({token: Fraction(str(mass)) for token, mass in enumerate(masses)}, len(masses))


def random_model(seed: object, size: int, eos: Iterable[int], empty: float = 0.0) -> TableModel:
    """A context-dependent law of small weights, many of them zero; empty with probability `empty`."""

    def rule(context: tuple[int, ...]) -> ExactLaw:
        dice = random.Random(f"{seed}/{context}")
        if dice.random() < empty:
            return ExactLaw({}, size)
        weights = {token: Fraction(dice.choice((0, 0, 1, 1, 2, 3))) for token in range(size)}
        if not any(weights.values()):
            weights[dice.randrange(size)] = Fraction(1)
        return ExactLaw.normalised(weights, size)

    return TableModel(size, rule, frozenset(eos))


def random_tokenizer(dice: random.Random, count: int) -> ToyTokenizer:
    """`count` strings, drawn with repetition, and usually an end-of-text id somewhere among them."""
    strings: list[str | None] = [dice.choice(STRINGS) for _ in range(count)]
    if dice.random() < 0.8:
        strings.insert(dice.randint(0, count), None)
    return ToyTokenizer(tuple(strings))


class Toys:
    """Everything above, for tests that cannot import this file, and decoders by name."""

    Cycle = Cycle
    Counting = Counting
    Floats = Floats
    exact = staticmethod(exact)
    tensor_law = staticmethod(tensor_law)
    model = staticmethod(random_model)
    tokenizer = staticmethod(random_tokenizer)

    coins = st.one_of(
        st.sampled_from((0.0, 0.25, 0.5, 0.75, 1 - 2**-53)), st.floats(0, 1, exclude_max=True, allow_subnormal=False)
    )
    scripts = st.lists(coins, min_size=1, max_size=12)

    @staticmethod
    def toy(seed: int, size: int = 2) -> Toy:
        """Two vocabularies of `size` strings (and EOS), non-injective at times, that share at least one string."""
        dice = random.Random(seed)
        while True:
            tokenizer, draft_tokenizer = random_tokenizer(dice, size), random_tokenizer(dice, size)
            if set(tokenizer.strings) & set(draft_tokenizer.strings) - {None}:
                break
        return Toy(
            random_model(f"target {seed}", tokenizer.size, tokenizer.eos),
            tokenizer,
            random_model(f"drafter {seed}", draft_tokenizer.size, draft_tokenizer.eos, empty=0.1),
            draft_tokenizer,
        )

    @staticmethod
    def common(seed: int, size: int = 3) -> Toy:
        """One vocabulary for both models, as in speculative sampling; the last id is EOS, but for every third seed."""
        tokenizer = ToyTokenizer((*"abcdefg"[: size - 1], None) if seed % 3 else tuple("abcdefg"[:size]))
        return Toy(
            random_model(f"target {seed}", size, tokenizer.eos),
            tokenizer,
            random_model(f"drafter {seed}", size, tokenizer.eos, empty=0.1),
            tokenizer,
        )

    @staticmethod
    def floats(toy: Toy) -> Toy:
        return Toy(Floats(toy.target), toy.tokenizer, Floats(toy.drafter), toy.draft_tokenizer)

    decoders: Mapping[str, Callable[[Toy, int], Decoder]] = {
        "speculative-sampling": lambda toy, lookahead: SpeculativeSampling(toy.target, toy.drafter, lookahead),
        "tli": lambda toy, lookahead: tli(toy.target, toy.tokenizer, toy.drafter, toy.draft_tokenizer, lookahead),
        "union": lambda toy, lookahead: union(toy.target, toy.tokenizer, toy.drafter, toy.draft_tokenizer, lookahead),
        "slem": lambda toy, lookahead: Slem(
            toy.target, toy.tokenizer, ModelDrafter(toy.drafter, toy.draft_tokenizer), lookahead
        ),
        "slrs": lambda toy, lookahead: Slrs(
            toy.target, FirstToken(toy.drafter, toy.draft_tokenizer, toy.tokenizer, FixedLookahead(lookahead))
        ),
        "slrs-length": lambda toy, lookahead: Slrs(
            toy.target, FirstToken(toy.drafter, toy.draft_tokenizer, toy.tokenizer, StopAtLength(2, lookahead))
        ),
    }

    def decoder(self, name: str, seed: int, lookahead: int, in_floats: bool = False) -> Decoder:
        """The decoder of that name on the toy of that seed."""
        toy = self.common(seed) if name == "speculative-sampling" else self.toy(seed)
        return self.decoders[name](self.floats(toy) if in_floats else toy, lookahead)

    @staticmethod
    def emitted(decoder: Decoder, tokens: tuple[int, ...], remaining: int) -> dict[tuple[int, ...], Fraction]:
        """The exact law of what one step emits."""

        def program() -> Program[tuple[int, ...]]:
            step: Step = yield from decoder.step(State(tokens, 0, remaining))
            return step.emitted

        return law_of(program)

    @staticmethod
    def choices(program: Program[Any]) -> Program[tuple[tuple[int, ...], Any]]:
        """The same program, returning the answers to its `Choose` requests beside its result."""
        chosen: list[int] = []
        answer: Any = None
        while True:
            try:
                request = program.send(answer)
            except StopIteration as stop:
                return tuple(chosen), stop.value
            answer = yield request
            if isinstance(request, Choose):
                chosen.append(answer)

    @staticmethod
    def assert_lossless(decoder: Decoder, horizon: int, prompt: tuple[int, ...] = ()) -> None:
        """Holds the decoder's output law against the specification's, as fractions."""
        specification = output_law(Autoregressive(decoder.target), prompt, horizon)
        assert sum(specification.values()) == 1
        assert output_law(decoder, prompt, horizon) == specification


@pytest.fixture(scope="session")
def toys() -> Toys:
    return Toys()
