"""Common parts of the Triton files of this folder: a Case is a kernel with the types of its parameters and its compile
options."""
import dataclasses

ALL = (75, 80, 89, 90)
AMPERE = (80, 89, 90)  # bf16, asynchronous copies
ADA = (89, 90)  # fp8
HOPPER = (90,)  # TMA, wgmma


@dataclasses.dataclass
class Case:
    """`types` has one name for each parameter that is not a constexpr; an integer with `:16` is a multiple of 16, like
    all pointers."""

    name: str
    kernel: object
    types: str
    constants: dict
    warps: int = 4
    stages: int = 3
    targets: tuple = ALL
    options: dict = dataclasses.field(default_factory=dict)

    def signature(self):
        """(types by name, attributes by position), in the format of triton.compile."""
        given, types, attributes = iter(self.types.split()), {}, {}
        for position, name in enumerate(self.kernel.arg_names):
            if name in self.constants:
                types[name] = "constexpr"
                continue
            types[name], _, multiple = next(given).partition(":")
            if multiple or types[name].startswith("*"):
                attributes[(position,)] = [["tt.divisibility", 16]]
        if list(given):
            raise ValueError(f"{self.name}: more types than parameters")
        return types, attributes
