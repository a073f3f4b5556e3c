"""The catalogue of metered rules."""

from draftproof.verify.meter.catalogue import CATALOGUE


def test_every_entry_is_told_apart_and_names_its_source() -> None:
    assert len({(rule.name, rule.parameters) for rule in CATALOGUE}) == len(CATALOGUE)
    for rule in CATALOGUE:
        assert rule.keeps
        assert any(source in rule.source for source in ("Medusa", "SGLang", "transformers", "Leviathan"))


def test_it_holds_the_four_rules_and_one_that_is_lossless() -> None:
    names = {"typical acceptance", "acceptance thresholds", "static ensemble", "lenience"}
    assert {rule.name for rule in CATALOGUE} == names
    assert [(rule.name, rule.parameters) for rule in CATALOGUE if rule.lossless] == [
        ("acceptance thresholds", "single 1, acc 1")
    ]
