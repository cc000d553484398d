"""The policy pack as the engine starts it: `pulumi preview --policy-pack policy`."""

from policy.adapter import serve

serve()
