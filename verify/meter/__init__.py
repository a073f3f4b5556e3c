"""Rules that are lossy by design: they get a meter, not a verdict.

Some decoders trade the target's law for speed and say so. To convict them of it would be idle; how much they give away,
at which positions and for how much acceptance, is worth knowing. Modules: rules (the decoders), catalogue (which rules
with which parameters, from where), closed_forms (the law of one step over a whole vocabulary), measure (real laws, and
toys), evidence.
"""
