"""Evidence on floats: the options that ask for it again."""

from draftproof.verify.numerics.evidence import Plan


def test_a_plan_tells_its_options() -> None:
    plan = Plan("zoo", prompts=2, max_new_tokens=8, lookahead=3, seed=1)
    assert plan.options == "--pair zoo --prompts 2 --max-new-tokens 8 --lookahead 3 --seed 1"
