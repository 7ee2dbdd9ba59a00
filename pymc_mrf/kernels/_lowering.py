"""What numba writes for LLVM, without detours through memory.

numba stores every variable that is used in several blocks, and every array whose attributes are read, in
memory of the stack, whole records with it, and reads back what it needs; LLVM then finds that nothing needs
memory, which is most of its work before any code is better. Here what is known is not written down in the
first place: variables that are assigned once, before all their uses, are values, and so are attributes of
what was stored before in the same block.

Edges of a small binary field under the exact likelihood take 22 CPU seconds to their first draw with it and
27 without, on a busy machine (`tests/benchmarks/first_run.py`). All of this rests on private parts of numba,
as `_compiler` does, which uses it.
"""

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from llvmlite.ir import instructions
from llvmlite.ir.values import MDValue
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.ir import Assign
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering, NativeLowering
from numba.core.untyped_passes import InlineClosureLikes

Place = tuple[ir.AllocaInstr, tuple[int, ...]]  # a variable on the stack, and which part of it


def _member(value: Any, indices: tuple[int, ...]) -> Any:
    """Part of an aggregate that is known when code is written, or None."""
    while indices:
        if isinstance(value, instructions.InsertValue):
            inserted = tuple(value.indices)
            n = min(len(inserted), len(indices))
            if inserted[:n] != indices[:n]:
                value = value.aggregate
            elif n == len(inserted):
                value, indices = value.value, indices[n:]
            else:
                return None  # a part of it was inserted
        elif isinstance(value, ir.Constant) and (
            value.constant is None or value.constant is ir.Undefined
        ):
            value, indices = ir.Constant(value.type.elements[indices[0]], value.constant), indices[1:]
        else:
            return None
    return value


class Writer(ir.IRBuilder):
    """A builder that does not read what it knows.

    Of every variable on the stack whose address nobody else has, it knows what was stored last in the block
    that it writes.
    """

    def __init__(self, block: Any = None) -> None:
        super().__init__(block)
        self._stored: dict[Any, tuple[Any, Any]] = {}  # block and value, by variable
        self._places: dict[Any, Place] = {}  # of pointers to variables and to parts of them
        self._shared: set[Any] = set()  # variables whose address somebody has
        self._shares_all = False  # whether a pointer may be to any variable

    def _insert(self, instruction: Any) -> None:
        super()._insert(instruction)
        if isinstance(instruction, (instructions.LoadInstr, instructions.GEPInstr)):
            return
        given = instruction.operands
        for operand in given[:1] if isinstance(instruction, instructions.StoreInstr) else given:
            if isinstance(operand, instructions.Instruction) and operand in self._places:
                self._shared.add(self._places[operand][0])

    def _place(self, pointer: Any) -> Place | None:
        if not isinstance(pointer, instructions.Instruction):
            return None
        place = self._places.get(pointer)
        return None if place is None or self._shares_all or place[0] in self._shared else place

    def _known(self, variable: Any) -> Any:
        block, value = self._stored.get(variable, (None, None))
        return value if block is self.block else None

    def phi(self, typ: Any, *args: Any, **kwargs: Any) -> Any:
        """Choose by the block before; where pointers are chosen, no variable is known any more."""
        self._shares_all = self._shares_all or isinstance(typ, ir.PointerType)
        return super().phi(typ, *args, **kwargs)

    def alloca(self, typ: Any, size: Any = None, name: str = "") -> Any:
        variable = super().alloca(typ, size, name)
        if size is None:
            self._places[variable] = variable, ()
        return variable

    def gep(self, ptr: Any, indices: Any, inbounds: bool = False, *args: Any, **kwargs: Any) -> Any:
        pointer = super().gep(ptr, indices, inbounds, *args, **kwargs)
        place = self._place(ptr)
        if place is not None:
            numbers = tuple(i.constant for i in indices if isinstance(i, ir.Constant))
            if len(numbers) == len(indices) and numbers[0] == 0:
                self._places[pointer] = place[0], place[1] + numbers[1:]
            else:
                self._shared.add(place[0])
        return pointer

    def store(self, value: Any, ptr: Any, *args: Any, **kwargs: Any) -> Any:
        instruction = super().store(value, ptr, *args, **kwargs)
        place = self._place(ptr)
        if place is not None:
            variable, indices = place
            whole = self._known(variable)
            if not indices:
                self._stored[variable] = self.block, value
            elif whole is not None:
                self._stored[variable] = self.block, self.insert_value(whole, value, indices)
            else:
                self._stored.pop(variable, None)
        return instruction

    def load(self, ptr: Any, *args: Any, **kwargs: Any) -> Any:
        place = None if args or kwargs else self._place(ptr)
        whole = None if place is None else self._known(place[0])
        if place is None or whole is None:
            return super().load(ptr, *args, **kwargs)
        value = self.extract_value(whole, place[1]) if place[1] else whole
        if isinstance(value.type, ir.IntType) and (
            isinstance(value, instructions.LoadInstr) or not isinstance(value, instructions.Instruction)
        ):
            # numba may say of what is read that it is positive, which holds here alone
            value = self.add(value, value.type(0))
        return value

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        indices = tuple(idx) if isinstance(idx, (tuple, list)) else (idx,)
        known = _member(agg, indices)
        return super().extract_value(agg, indices, name) if known is None else known


_IDLE = (  # without effects, if nobody needs what they return
    instructions.InsertValue,
    instructions.ExtractValue,
    instructions.LoadInstr,
    instructions.GEPInstr,
    instructions.AllocaInstr,
    instructions.CastInstr,
)


def _target(store: Any) -> Any:
    """Return the variable on the stack that a store writes to, or whatever pointer it is."""
    pointer = store.operands[1]
    while isinstance(pointer, (instructions.GEPInstr, instructions.CastInstr)):
        pointer = pointer.operands[0]
    return pointer


def prune(function: ir.Function) -> None:
    """Take out of a function what nobody needs: parts of aggregates, and variables that are never read."""
    needed: set[Any] = set()
    waiting: list[Any] = []
    stores: dict[Any, list[Any]] = {}
    for block in function.blocks:
        for instruction in block.instructions:
            if isinstance(instruction, instructions.StoreInstr):
                target = _target(instruction)
                if isinstance(target, instructions.AllocaInstr):
                    stores.setdefault(target, []).append(instruction)
                    continue
            if not isinstance(instruction, _IDLE):
                waiting.append(instruction)
    while waiting:
        instruction = waiting.pop()
        if instruction in needed:
            continue
        needed.add(instruction)
        waiting.extend(stores.pop(instruction, ()))
        if isinstance(instruction, instructions.PhiInstr):
            operands = [value for value, _ in instruction.incomings]
        else:
            operands = instruction.operands
        waiting.extend(o for o in operands if isinstance(o, instructions.Instruction))
    for block in function.blocks:
        block.instructions[:] = [i for i in block.instructions if i in needed]
        for instruction in block.instructions:
            if not isinstance(instruction, instructions.LoadInstr):
                instruction.metadata.pop("range", None)  # LLVM wants it of loads only


class Loop(MDValue):
    """What LLVM is told of a loop: not to write its body several times if the number of rounds is not known.

    That made kernels twice as long and none faster: long loops over arrays are vectorised.
    """

    def __init__(self, module: Any) -> None:
        super().__init__(module, (), str(len(module.metadata)))

    def descr(self, buf: Any) -> None:
        name = self.get_reference()
        buf += (f'distinct !{{ {name}, !{{ !"llvm.loop.unroll.runtime.disable" }} }}', "\n")


class KernelLower(Lower):
    """Lowering of a kernel."""

    def setup_function(self, fndesc: Any) -> None:
        """Begin, with a builder that knows what it has written."""
        super().setup_function(fndesc)
        if not self.context.enable_debuginfo:  # debuggers look for variables in memory
            self.builder = Writer(self.entry_block)
            self.call_helper = self.call_conv.init_call_helper(self.builder)

    def lower_normal_function(self, fndesc: Any) -> None:
        super().lower_normal_function(fndesc)
        if isinstance(self.builder, Writer):
            prune(self.function)

    def post_block(self, block: Any) -> None:
        super().post_block(block)
        label = next(label for label, each in self.blocks.items() if each is block)
        if any(target in self._before.get(label, ()) for target in block.terminator.get_targets()):
            self.builder.block.terminator.set_metadata("llvm.loop", Loop(self.module))

    def _is_counted(self, name: str) -> bool:
        if not self.context.enable_nrt:
            return False
        return self.context.data_model_manager[self.typeof(name)].contains_nrt_meminfo()

    def _find_singly_assigned_variable(self) -> None:
        self._before = compute_cfg_from_blocks(self.blocks).dominators()
        super()._find_singly_assigned_variable()
        if self.generator_info is None:
            self._singly_assigned_vars.update(self._values())

    def _values(self) -> Iterator[str]:
        """Variables that are assigned once, in a block through which every way to their uses leads."""
        flow = compute_use_defs(self.blocks)
        begins: dict[str, list[int]] = {}
        uses: dict[str, list[int]] = {}
        for label, block in self.blocks.items():
            for assignment in block.find_insts(Assign):
                begins.setdefault(assignment.target.name, []).append(label)
            for name in flow.usemap[label]:
                uses.setdefault(name, []).append(label)
        for name, labels in begins.items():
            if len(labels) == 1 and not self._is_counted(name):
                first = labels[0]
                others = uses.get(name, ())
                # blocks are written in the order of their labels
                if all(first < label and first in self._before.get(label, ()) for label in others):
                    yield name

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Assign to a variable; the old value, of which numba takes a reference away, is not read."""
        if name in self._singly_assigned_vars or self._is_counted(name):
            super().storevar(value, name, argidx)
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        if self._is_counted(name):
            super().delvar(name)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(BaseNativeLowering):
    """The pass that writes kernels."""

    _name = "pymc_mrf_kernel_lowering"

    @property
    def lowering_class(self) -> type:
        return KernelLower


class KernelFlags(Flags):
    """Options of a kernel, which numba compares with others whenever it looks for a function of its own."""

    _hash = hash(tuple(sorted(Flags.options)))  # numba's, which is the same for all

    def __init__(self, copy_from: Any = None) -> None:
        super().__init__(copy_from)
        self._all: dict[str, Any] = {}

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    def copy(self) -> "KernelFlags":
        """Copy them for what numba compiles on the way, which is no part of its callers if the kernel is."""
        copied = type(self)(self)
        copied.forceinline = False
        return copied

    def values(self) -> dict[str, Any]:
        """Give all options, found once: nobody changes those of a kernel that is being compiled."""
        if not self._all:
            self._all = super().values()
        return self._all


class KernelPipeline(Compiler):
    """Passes over a kernel: numba's, but for one that kernels do not need, and another that is our own."""

    def __init__(self, *arguments: Any) -> None:
        *others, flags, types_of_variables = arguments
        super().__init__(*others, KernelFlags(flags), types_of_variables)

    def define_pipelines(self) -> list:
        [manager] = super().define_pipelines()
        manager.passes = [
            (KernelLowering if each is NativeLowering else each, name)
            for each, name in manager.passes
            if each is not InlineClosureLikes  # kernels define no functions
        ]
        manager.finalize()
        return [manager]
