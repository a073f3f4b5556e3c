"""What a control is, and how one is made from a class that changes one rule of speculative sampling."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from draftproof.algorithms.decoding import Decoder, DecoderError
from draftproof.algorithms.interfaces import LanguageModel
from draftproof.algorithms.processors import Processed, Processor
from draftproof.algorithms.speculative_sampling import SpeculativeSampling
from draftproof.verify.settings import Setting
from draftproof.verify.toys import Toy, battery


@dataclass(frozen=True)
class Control:
    """A decoder with one changed rule. `wrong` says whether it must be refuted or must not be.

    `number` is its place in the catalogue of faults: "mutant 1" to "mutant 15", "V2" and "V4" for variants of SLEM,
    "smoke" for what any audit sees, "C1" to "C8" for look-alikes. `like` names the decoder whose settings it runs on;
    `source` says where the rule was seen in public. `build` makes it from a setting on which `processors` are
    declared: the toys of `battery()` have them, other settings get them by `settings.processed`. `vocabularies` are
    the toy vocabularies on which the rule can matter; all of `like`'s where empty.
    """

    name: str
    number: str
    like: str
    wrong: bool
    rule: str
    source: str
    build: Callable[[Setting], Decoder]
    processors: tuple[Processor, ...] = ()
    vocabularies: tuple[str, ...] = ()

    def battery(self) -> Iterator[Toy]:
        """The toys that it is enumerated on: those of the decoder it is like, with its processors declared."""
        for toy in battery(self.like, self.vocabularies):
            yield replace(toy, processors=self.processors)


def declared(name: str, target: LanguageModel) -> Processed:
    """The target with its processors, for a control that gets them wrong.

    Raises DecoderError where no processors are declared.
    """
    if not isinstance(target, Processed):
        raise DecoderError(f"{name} needs a setting with processors on its target (settings.processed)")
    return target


def changed(
    kind: type[SpeculativeSampling],
    name: str,
    number: str,
    rule: str,
    source: str,
    wrong: bool = True,
    processors: tuple[Processor, ...] = (),
) -> Control:
    """The control of speculative sampling that `kind`, which changes one of its methods, is."""
    return Control(
        name,
        number,
        "speculative-sampling",
        wrong,
        rule,
        source,
        lambda s: kind(s.target, s.drafter, s.lookahead, name=name),
        processors,
    )
