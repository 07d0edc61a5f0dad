"""What Numba does to a kernel: of its passes, those that kernels need; only processes that compile import this.

Most of the time to compile a kernel is Numba's Python, not LLVM. A part of it (17 to 31 % where it was measured, on a
busy machine) went into passes for what no kernel has (closures, arrays as expressions, generators) and into finding
again what ``+`` of two words is, at each place where a kernel has one. The machine code is the same, byte for byte.
Another part (a seventh) went into optimizing each helper before it was pasted into what calls it, and optimized there.
"""

from __future__ import annotations

from typing import Any

from numba.core import base, codegen, event, ir, typed_passes, types, untyped_passes
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.inline_closurecall import InlineWorker


@register_pass(mutates_CFG=False, analysis_only=False)
class _BranchOnWords(FunctionPass):
    """Let branches ask for a word itself, which will do as a truth does, and not for what a call makes of it."""

    _name = "branch_on_words"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        for block in state.func_ir.blocks.values():
            branch = block.terminator
            if not isinstance(branch, ir.Branch):
                continue
            made = {one.target.name: one for one in block.find_insts(ir.Assign)}
            test = made.get(branch.cond.name)
            if test is None or getattr(test.value, "op", "") != "call":
                continue
            called = made.get(test.value.func.name)
            if called is not None and getattr(called.value, "value", None) is bool:
                block.body[-1] = ir.Branch(test.value.args[0], branch.truebr, branch.falsebr, branch.loc)
                block.body = [one for one in block.body if one is not test and one is not called]
        return True


_PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.DeadBranchPrune,  # what flags of `hooks` leave out is not typed
    untyped_passes.InlineInlinables,
    untyped_passes.DeadBranchPrune,
    _BranchOnWords,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class KernelPipeline(CompilerBase):
    """Numba's compiler with these passes alone."""

    def define_pipelines(self) -> list[Any]:
        """The one way to compile."""
        manager = PassManager("kernel")
        for made in _PASSES:
            manager.add_pass(made, made.__name__)
        manager.finalize()
        return [manager]


def remember() -> None:
    """Let Numba find out once what it asks for at each place: what an operator gives, a macro, the size of a type.

    And let it tell nobody what it is at, which nobody listens to.
    """
    _remember_types()
    _remember_macros()
    _remember_sizes()
    event.broadcast = _nothing  # who wants to know when a pass begins and ends


def optimized(library: Any) -> str:
    """LLVM's code of a compiled function and of all it calls."""
    _optimize(library)
    code: str = library.get_llvm_str()
    return code


_library: Any = codegen.JITCodeLibrary
_optimize = _library._optimize_final_module


def optimize_once() -> None:
    """Let Numba optimize what a kernel calls only as far as pasting it takes; `optimized` does the rest for the whole.

    Nothing that is compiled can be called in this process from then on: no machine code is made here but that of whole
    kernels, by `machine_code.assembled`. Numba makes some of each function that a kernel calls.
    """

    def paste(library: Any) -> None:
        found = library._codegen
        passes, builder = found._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=found._opt_level, cost="cheap"
        )
        passes.run(library._final_module, builder)

    def no_address(library: Any, name: str) -> int:
        library._ensure_finalized()
        return 0

    _library._optimize_final_module = paste
    _library._finalize_specific = _nothing
    _library.get_pointer_to_function = no_address
    jit: Any = codegen.JITCPUCodegen
    jit.set_env = _nothing


def _nothing(*_: Any) -> None:
    pass


def _remember_types() -> None:
    found: dict[tuple[Any, ...], Any] = {}
    functions: Any = types.Function
    find = functions.get_call_type

    def get_call_type(self: Any, context: Any, arguments: Any, named: Any) -> Any:
        key = self, context, tuple(arguments), tuple(sorted(dict(named).items()))
        if key not in found:
            found[key] = find(self, context, arguments, named)
        return found[key]

    functions.get_call_type = get_call_type


def _remember_macros() -> None:
    found: dict[Any, Any] = {}
    worker: Any = InlineWorker
    read = worker.run_untyped_passes

    def run_untyped_passes(self: Any, function: Any, enable_ssa: bool = False) -> Any:
        if function not in found:
            found[function] = read(self, function, enable_ssa)
        self.flags.enable_ssa = enable_ssa
        return found[function]  # who pastes it pastes a copy

    worker.run_untyped_passes = run_untyped_passes


def _remember_sizes() -> None:
    found: dict[str, int] = {}
    context: Any = base.BaseContext
    ask = context.get_abi_sizeof

    def get_abi_sizeof(self: Any, kind: Any) -> int:
        key = str(kind)
        if key not in found:
            found[key] = ask(self, kind)
        return found[key]

    context.get_abi_sizeof = get_abi_sizeof
