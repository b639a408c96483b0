"""Each way in which a kernel name is built or chosen in Rust, in a source of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.upstream.rust import LINE, analyse, asked

ALL = {"u8", "f32", "f64", "f8e4m3"}


def names(root: str, dtypes: set[str]) -> set[str]:
    return {f"{root}_{dtype}" for dtype in dtypes}


CONSTRUCTS = {
    "literal": ('fn go(d: &Dev) { let f = d.get_or_load_func("toy_f32", &M)?; }', {"toy_f32"}),
    "raw string": ('fn go(d: &Dev) { d.get_or_load_func(r#"toy_f32"#, &M); }', {"toy_f32"}),
    "constant": ('const NAME: &str = "toy_u8"; fn go(d: &Dev) { d.get_or_load_func(NAME, &M); }', {"toy_u8"}),
    "static in a module": (
        'mod names { pub static A: &str = "a"; } fn go(d: &Dev) { d.get_or_load_func(names::A, &M); }',
        {"a"},
    ),
    "variable and shadowing": (
        'fn go(d: &Dev) { let n = "x"; { let n = "y"; d.get_or_load_func(n, &M); } d.get_or_load_func(&n, &M); }',
        {"x", "y"},
    ),
    "assignment in branches": (
        'fn go(d: &Dev, b: bool) { let n; if b { n = "x" } else { n = "y" } d.get_or_load_func(n, &M); }',
        {"x", "y"},
    ),
    "if as a value": (
        'fn go(d: &Dev, b: bool) { d.get_or_load_func(if b { "x" } else { "y" }, &M); }',
        {"x", "y"},
    ),
    "match over an enum, an arm that leaves": (
        'fn go(d: &Dev, t: DType) -> Result<()> { let n = match t { DType::U8 => "a", DType::F32 | DType::F64 => "b",'
        ' t => bail!("no {t:?}") }; d.get_or_load_func(n, &M)?; Ok(()) }',
        {"a", "b"},
    ),
    "an arm that is an error": (
        'fn go(d: &Dev, t: DType) -> Result<()> { let n = match t { DType::U8 => "a", _ => Err(E::X { t }).w()? };'
        " d.get_or_load_func(n, &M)?; Ok(()) }",
        {"a"},
    ),
    "a tuple out of a match": (
        'fn go(d: &Dev, t: DType) { let (n, k) = match t { DType::U8 => ("a", 1), _ => ("b", 2) };'
        " d.get_or_load_func(n, &M); }",
        {"a", "b"},
    ),
    "kernel_name with a type": ('fn go(d: &Dev) { d.get_or_load_func(&kernel_name::<f32>("toy"), &M); }', {"toy_f32"}),
    "kernel_name within its bounds": (
        'fn go<T: WithDType>(d: &Dev) { d.get_or_load_func(&kernel_name::<T>("toy"), &M); }',
        names("toy", ALL),
    ),
    "a where clause": (
        'fn go<T>(d: &Dev) where T: Copy + WithDType { d.get_or_load_func(&kernel_name::<T>("toy"), &M); }',
        names("toy", ALL),
    ),
    "format with places, numbers and names": (
        'fn go(d: &Dev, t: DType) { let r = "is"; let n = format!("{}_{1}_{r}_{x}{{}}", "a", "b", x = t.as_str());'
        " d.get_or_load_func(&n, &M); }",
        {f"a_b_is_{dtype}{{}}" for dtype in ALL},
    ),
    "sum, concat and join": (
        'fn go(d: &Dev) { let n = "a".to_string() + "_b"; d.get_or_load_func(&n, &M);'
        ' d.get_or_load_func(&["c", "d"].concat(), &M); d.get_or_load_func(&["e", "f"].join("_"), &M); }',
        {"a_b", "cd", "e_f"},
    ),
    "concat! and stringify!": (
        'fn go(d: &Dev) { d.get_or_load_func(concat!("u", stringify!(exp), "_", "f32"), &M); }',
        {"uexp_f32"},
    ),
    "a number within checked limits": (
        'fn go(d: &Dev, n: usize) -> Result<()> { if n == 0 || n > 3 { bail!("no") }'
        ' d.get_or_load_func(&format!("mv{n}"), &M)?; Ok(()) }',
        {"mv1", "mv2", "mv3"},
    ),
    "a number with a zero in front": (
        'fn go(d: &Dev, n: usize) -> Result<()> { if n == 00 || n > 02 { bail!("no") }'
        ' d.get_or_load_func(&format!("mv{n}"), &M)?; Ok(()) }',
        {"mv1", "mv2"},
    ),
    "a number matched": (
        "fn go(d: &Dev, n: usize) { match n { 1 => return, 2..=3 => {}, 4..6 => {}, _ => panic!() }"
        ' d.get_or_load_func(&format!("mv{n}"), &M); }',
        {"mv2", "mv3", "mv4", "mv5"},
    ),
    "a loop over names": (
        'fn go(d: &Dev) { for (n, k) in [("a", 1), ("b", 2)] { d.get_or_load_func(n, &M); } }',
        {"a", "b"},
    ),
    "matches! as a guard": (
        "fn go(d: &Dev, t: DType) { if !matches!(t, DType::U8 | DType::F32) { return }"
        ' d.get_or_load_func(&format!("c_{}", t.as_str()), &M); }',
        {"c_u8", "c_f32"},
    ),
    "equality as a guard": (
        "fn go(d: &Dev, t: DType) { if t != DType::F64 { return }"
        ' d.get_or_load_func(&format!("c_{}", t.as_str()), &M); }',
        {"c_f64"},
    ),
    "if let over a storage": (
        "fn go(d: &Dev, s: &Storage) { if let S::F32(x) = &s.slice { inner(x, d) } }\n"
        'fn inner<T: WithDType>(x: &Buf<T>, d: &Dev) { d.get_or_load_func(&kernel_name::<T>("toy"), &M); }',
        {"toy_f32"},
    ),
    "the root as a parameter": (
        'fn load(d: &Dev, root: &str) { d.get_or_load_func(&format!("{root}_f32"), &M); }\n'
        'fn a(d: &Dev) { load(d, "x") }\nfn b(d: &Dev) { load(d, if c() { "y" } else { "z" }) }',
        {"x_f32", "y_f32", "z_f32"},
    ),
    "root and type through two helpers": (
        "fn low<T: WithDType>(d: &Dev, n: &str) { d.get_or_load_func(&kernel_name::<T>(n), &M); }\n"
        "fn mid<T: WithDType>(d: &Dev, n: &str) { low::<T>(d, n) }\n"
        'fn a(d: &Dev) { mid::<u8>(d, "x"); mid::<f64>(d, "y"); }',
        {"x_u8", "y_f64"},
    ),
    "a helper that answers a name": (
        'fn tag(t: DType) -> &\'static str { match t { DType::F8E4M3 => "fp8", t => t.as_str() } }\n'
        'fn go(d: &Dev, t: DType) { d.get_or_load_func(&format!("u_{}", tag(t)), &M); }',
        {"u_u8", "u_f32", "u_f64", "u_fp8"},
    ),
    "an early return in a helper": (
        'fn tag(b: bool) -> Option<&\'static str> { if b { return Some("x") } Some("y") }\n'
        "fn go(d: &Dev) { d.get_or_load_func(tag(c()).unwrap(), &M); }",
        {"x", "y"},
    ),
    "a closure with the root": (
        'fn go(d: &Dev) { let load = |n: &str| d.get_or_load_func(&format!("{n}_u8"), &M); load("a"); load("b"); }',
        {"a_u8", "b_u8"},
    ),
    "a field of a struct": (
        "struct Op { name: &'static str }\n"
        'impl Op { fn run(&self, d: &Dev) { d.get_or_load_func(&format!("{}_u8", self.name), &M); } }\n'
        'fn a(d: &Dev) { Op { name: "x" }.run(d) }\nfn b(d: &Dev) { let name = "y"; Op { name }.run(d) }',
        {"x_u8", "y_u8"},
    ),
    "a macro with the root": (
        "macro_rules! load { ($d:expr, $root:literal, $($t:ident),+) => { $( $d.get_or_load_func("
        'concat!($root, "_", stringify!($t)), &M); )+ } }\nfn go(d: &Dev) { load!(d, "k", u8, f32); }',
        {"k_u8", "k_f32"},
    ),
    "a macro that makes functions": (
        "macro_rules! op { ($name:ident, $root:expr) => { fn $name(d: &Dev) { d.get_or_load_func($root, &M); } } }\n"
        'op!(first, "a");\nop!(second, "b");',
        {"a", "b"},
    ),
    "a load inside another macro's arguments": (
        'fn go(d: &Dev) { assert_ok!(d.get_or_load_func("seen", &M)); }',
        {"seen"},
    ),
    "constants of a trait's implementers": (
        "trait Op { const KERNEL: &'static str; }\nstruct A; struct B;\n"
        "macro_rules! op { ($t:ident, $n:literal) => { impl Op for $t {"
        ' const KERNEL: &\'static str = concat!("u", $n); } } }\n'
        'op!(A, "exp");\nimpl Op for B { const KERNEL: &\'static str = "ulog"; }\n'
        "trait Map { fn f<T: WithDType>(&self, d: &Dev, x: &Buf<T>); }\n"
        "impl<U: Op> Map for U { fn f<T: WithDType>(&self, d: &Dev, x: &Buf<T>) {"
        " d.get_or_load_func(&kernel_name::<T>(U::KERNEL), &M); } }",
        names("uexp", ALL) | names("ulog", ALL),
    ),
    "a trait that maps over a storage": (
        "trait Map1 { fn f<T: WithDType>(&self, s: &Buf<T>, d: &Dev) -> Result<Buf<T>>;\n"
        " fn map(&self, s: &S, d: &Dev) -> Result<S> { Ok(match s { S::U8(s) => S::U8(self.f(s, d)?),"
        ' S::F32(s) => S::F32(self.f(s, d)?), S::F8E4M3(s) => S::F8E4M3(self.f(s, d)?), _ => bail!("no") }) } }\n'
        "struct Neg;\nimpl Map1 for Neg { fn f<T: WithDType>(&self, s: &Buf<T>, d: &Dev) -> Result<Buf<T>> {"
        ' let func = d.get_or_load_func(&kernel_name::<T>("uneg"), &M)?; Ok(s) } }',
        names("uneg", {"u8", "f32", "f8e4m3"}),
    ),
    "variants brought in by a use in the function": (
        "fn go(s: &Storage, d: &Dev) -> Result<()> {\n"
        ' fn inner<T: WithDType>(x: &Buf<T>, d: &Dev) { d.get_or_load_func(&kernel_name::<T>("rope"), &M); }\n'
        " use crate::cuda_backend::Slice::{F32, F64};\n"
        ' match &s.slice { F32(x) => inner(x, d), F64(x) => inner(x, d), _ => bail!("no") }; Ok(()) }',
        names("rope", {"f32", "f64"}),
    ),
    "a pair of storages narrows the field": (
        "impl Storage { fn dtype(&self) -> DType { match &self.slice { S::U8(_) => DType::U8, S::F32(_) => DType::F32,"
        " S::F64(_) => DType::F64, S::F8E4M3(_) => DType::F8E4M3, S::Raw(_) => DType::U8 } }\n"
        " fn cast(&self, d: &Dev, to: DType) -> Result<()> {\n"
        "  let x = match &self.slice { S::F32(x) => ptr(x), S::F64(x) => ptr(x), _ => return Err(E) };\n"
        '  let n = format!("cast_{}_{}", self.dtype().as_str(), to.as_str());\n'
        '  d.get_or_load_func(&n, &M)?; match to { DType::U8 => Ok(()), _ => bail!("later") } } }',
        {f"cast_{one}_{other}" for one in ("f32", "f64") for other in ALL},
    ),
    "a call with two types": (
        "fn go<A: WithDType, B: WithDType>(d: &Dev) {"
        ' d.get_or_load_func(&format!("{}_{}", A::DTYPE.as_str(), B::DTYPE.as_str()), &M); }\n'
        "fn a(d: &Dev) { go::<u8, f32>(d); go::<f64, f64>(d); }",
        {"u8_f32", "f64_f64"},
    ),
    "the dtype out of the type's name, its spelling out of a list": (
        'const ODD: &[&str] = &["odd", "strange"];\n'
        "fn suffix<T: 'static>(root: &str) -> Option<&'static str> { let name = std::any::type_name::<T>();"
        ' let s = if name.contains("F8E4M3") { if ODD.contains(&root) { "fp8" } else { "f8" } }'
        ' else if name.contains("f32") { "f32" } else { return None }; Some(s) }\n'
        "fn name<T: 'static>(root: &str) -> String {"
        ' let s = suffix::<T>(root).unwrap_or("none"); format!("{root}_{s}") }\n'
        "fn go<T: 'static>(d: &Dev, x: &Buf<T>, odd: bool) {"
        ' d.get_or_load_func(&name::<T>(if odd { "odd" } else { "even" }), &M); }\n'
        "fn a(d: &Dev, s: &Storage, odd: bool) {"
        " match &s.slice { S::F32(x) => go(d, x, odd), S::F8E4M3(x) => go(d, x, odd), _ => {} } }",
        {"odd_f32", "even_f32", "odd_fp8", "even_f8"},
    ),
    "a helper that answers None": (
        'fn tag(t: DType) -> Option<&\'static str> { match t { DType::U8 => Some("x"), _ => None } }\n'
        'fn go(d: &Dev, t: DType) { d.get_or_load_func(tag(t).unwrap_or("y"), &M); }',
        {"x", "y"},
    ),
    "what stands in for a name that is there": (
        'fn go(d: &Dev) { d.get_or_load_func(Some("x").unwrap_or("y"), &M); }',
        {"x"},
    ),
    "the first turn of a loop and the others": (
        'fn go(d: &Dev) { let mut n = "a"; let mut first = true; loop { d.get_or_load_func(n, &M); n = "b";'
        ' if first { first = false } else { d.get_or_load_func("c", &M); } } }',
        {"a", "b", "c"},
    ),
    "a text compared and matched": (
        'fn root(n: &str) -> &\'static str { if n == "x" { return "a" } match n { "y" => "b", _ => "c" } }\n'
        'fn go(d: &Dev) { d.get_or_load_func(root("x"), &M); d.get_or_load_func(root("y"), &M); }',
        {"a", "b"},
    ),
    "format! in a macro that another rule of it uses": (
        "macro_rules! cast { ($d:expr, $from:expr, $to:ty) => {{ cast!($d, $from, $to, stringify!($to)) }};"
        ' ($d:expr, $from:expr, $to:ty, $name:expr) => {{ let n = format!("cast_{}_{}", $from.as_str(), $name);'
        " launch($d, &M, &n) }}; }\n"
        "fn launch(d: &Dev, m: &Module, n: &str) { d.get_or_load_func(n, m); }\n"
        'fn go(d: &Dev, t: DType) { match t { DType::U8 => cast!(d, t, f32), _ => cast!(d, t, f8, "f8_e4m3") } }',
        {"cast_u8_f32", *(f"cast_{one}_f8_e4m3" for one in ALL - {"u8"})},
    ),
    "two enums checked together": (
        "fn go(d: &Dev, from: DType, to: DType) { if from == DType::F8E4M3 || to == DType::F8E4M3 {"
        " let other = if from == DType::F8E4M3 { to } else { from };"
        " if !matches!(other, DType::F32 | DType::F8E4M3) { return } }\n"
        " match to { DType::U8 if from == DType::F64 => {} DType::U8 => return, _ => {} }\n"
        ' d.get_or_load_func(&format!("{}_{}", from.as_str(), to.as_str()), &M); }',
        {
            f"{one}_{other}"
            for one in ALL
            for other in ALL
            if ("f8e4m3" not in (one, other) or {one, other} <= {"f32", "f8e4m3"}) and (other != "u8" or one == "f64")
        },
    ),
    "an enum in a field, checked after it was used": (
        "enum Kind { Set, Add }\n"
        'impl Kind { fn root(&self) -> &\'static str { match self { Kind::Set => "s", Kind::Add => "sa" } } }\n'
        "struct Op { kind: Kind }\n"
        "impl Op { fn run<T: WithDType>(&self, d: &Dev, x: &Buf<T>) { let root = self.kind.root();\n"
        ' if matches!(self.kind, Kind::Set) && std::any::type_name::<T>().contains("F8E4M3") { return }\n'
        " d.get_or_load_func(&kernel_name::<T>(root), &M); } }",
        names("s", ALL - {"f8e4m3"}) | names("sa", ALL),
    ),
    "a plan that holds the name": (
        "struct Plan { name: &'static str, step: usize }\n"
        "fn plan(t: DType) -> Option<Plan> {"
        ' let name = match t { DType::U8 => "a", DType::F32 => "b", _ => return None };'
        " Some(Plan { name, step: 4 }) }\n"
        "fn go(d: &Dev, t: DType) { let plan = match plan(t) { Some(plan) => plan, None => return };"
        " d.get_or_load_func(plan.name, &M); }",
        {"a", "b"},
    ),
    "a type out of an array of tuples": (
        "type Inputs<'a, T> = [(&'a Buf<T>, &'a Layout); 2];\n"
        'fn low<T: Copy>(d: &Dev, x: Inputs<T>) { d.get_or_load_func(&kernel_name::<T>("rope"), &M); }\n'
        "fn mid<T: Copy>(d: &Dev, x: &Buf<T>, l: &Layout) { low(d, [(x, l), (x, l)]) }\n"
        "fn go(d: &Dev, s: &Storage, l: &Layout) { if let S::F32(x) = &s.slice { mid(d, x, l) } }",
        {"rope_f32"},
    ),
    "the driver's own call, behind a shared cache": (
        "struct Cache;\nimpl Cache { fn function(&self, m: &str, n: &str) -> Func { self.find(m).get_function(n) } }\n"
        "struct Gpu { cache: Arc<Cache> }\n"
        "fn launch(gpu: &Gpu, module: &'static str, n: &str) { gpu.cache.function(module, n); }\n"
        'fn go(gpu: &Gpu) { launch(gpu, "unary", "uexp_f32") }',
        {"uexp_f32"},
    ),
    "a loader for others that nothing calls": (
        "pub fn custom(d: &Dev, n: &str, source: &str) { d.get_or_load_func(n, &M); }\n"
        'pub fn compile(d: &Dev, n: &str) { custom(d, n, &format!("ug_{n}")); }\n'
        'fn go(d: &Dev) { d.get_or_load_func("a", &M); }',
        {"a"},
    ),
    "a match on two enums, in a macro's arms, behind a check that they differ": (
        "macro_rules! launch { ($d:expr, $n:expr) => {{ load($d, &$n) }}; }\n"
        "fn load(d: &Dev, n: &str) { d.get_or_load_func(n, &M); }\n"
        "impl Storage { fn dtype(&self) -> DType { match &self.slice { S::U8(_) => DType::U8, S::F32(_) => DType::F32,"
        " S::F64(_) => DType::F64, S::F8E4M3(_) => DType::F8E4M3, S::Raw(_) => DType::U8 } }\n"
        " fn cast(&self, d: &Dev, to: DType) -> Result<()> { if self.dtype() == to { return self.copy() }\n"
        '  let n = format!("cast_{}_{}", self.dtype().as_str(), to.as_str());\n'
        "  match (&self.slice, to) { (S::F32(_), DType::U8) => launch!(d, n), (S::F32(_), DType::F32) => launch!(d, n),"
        " (S::F64(_), DType::F32) => launch!(d, n), _ => return Err(E) }; Ok(()) } }",
        {"cast_f32_u8", "cast_f64_f32"},
    ),
    "a struct in a function, and another one of its name": (
        "fn a(d: &Dev) { struct Op { n: &'static str }\n"
        " impl Op { fn run(&self, d: &Dev) { d.get_or_load_func(self.n, &M); } }"
        ' Op { n: "x" }.run(d) }\n'
        "fn b(d: &Dev) { struct Op { n: &'static str }\n"
        ' impl Op { fn run(&self, d: &Dev) { d.get_or_load_func(&format!("b{}", self.n), &M); } }'
        ' Op { n: "y" }.run(d) }',
        {"x", "by"},
    ),
    "the same condition for the name and for its end": (
        "fn go(d: &Dev, t: DType, n: usize) -> Result<()> { if n == 0 || n > 2 { bail!() }\n"
        ' let name = if n == 1 && matches!(t, DType::U8) { "one".to_string() } else { format!("{}{n}", t.as_str()) };'
        " match t { DType::U8 | DType::F32 => {}, _ => return Err(E) }\n d.get_or_load_func(&name, &M)?; Ok(()) }",
        {"one", "u82", "f321", "f322"},
    ),
    "tests do not count": (
        'fn go(d: &Dev) { d.get_or_load_func("a", &M); }\n'
        '#[cfg(test)]\nmod tests { fn t(d: &Dev) { d.get_or_load_func("b", &M); } }',
        {"a"},
    ),
}


@pytest.mark.slow("resolves Rust with many ways to load a kernel")
@pytest.mark.parametrize(("code", "expected"), CONSTRUCTS.values(), ids=CONSTRUCTS.keys())
def test_construct(tmp_path: Path, code: str, expected: set[str]) -> None:
    wiring = analyse(tmp_path, code)
    assert asked(wiring) == expected
    assert wiring.unresolved == ()


def test_evidence(tmp_path: Path) -> None:
    code = "fn load(d: &Dev, n: &str) {\n    d.get_or_load_func(n, &M);\n}\n"
    code += 'fn go(d: &Dev) {\n    load(d,\n    "toy_f32");\n}\n'
    wiring = analyse(tmp_path, code)
    file = "candle-core/src/cuda_backend/mod.rs"
    (ask,) = wiring.kernels["toy_f32"]
    assert (ask.at, ask.callers, ask.spelled) == (
        f"{file}:{LINE + 2}",
        (f"{file}:{LINE + 5}",),
        (f"{file}:{LINE + 6}",),
    )
    assert wiring.wired_at("toy_f32") == [f"{file}:{LINE + 5}"]
    assert wiring.wired_at("toy_u8") == []


@pytest.mark.nightly("resolves Rust with many ways to load a kernel")
def test_a_load_with_too_many_ways_is_reported(tmp_path: Path) -> None:
    flags = ", ".join(f"f{number}: bool" for number in range(14))
    name = ", ".join(f'if f{number} {{ "a" }} else {{ "b" }}' for number in range(14))
    wiring = analyse(tmp_path, f"fn go(d: &Dev, {flags}) {{ d.get_or_load_func(&[{name}].concat(), &M); }}")
    (one,) = wiring.unresolved
    assert one.why == "it can be reached in more than 10000 ways"
    assert asked(wiring) == set()


def test_another_spelling_is_never_asked_for_and_missing(tmp_path: Path) -> None:
    code = 'fn go<T: WithDType>(d: &Dev) { d.get_or_load_func(&kernel_name::<T>("toy"), &M); }'
    wiring = analyse(tmp_path, code)
    assert [name for name, asks in wiring.kernels.items() if not asks] == ["toy_f8_e4m3"]
    assert [(one.name, one.near) for one in wiring.missing] == [("toy_f8e4m3", "toy_f8_e4m3")]


@pytest.mark.parametrize(
    ("code", "pattern"),
    [
        ("fn go(d: &Dev) { d.get_or_load_func(&outside::name(), &M); }", "*"),
        ("fn go(d: &Dev, n: &str) { d.get_or_load_func(n, &M); }", "*"),
        ('fn go(d: &Dev, n: &str) { d.get_or_load_func(&format!("other_{n}"), &M); }', "other_*"),
        ('macro_rules! unused { ($d:expr) => { $d.get_or_load_func("x", &M) } }', "*"),
        ('fn go(d: &Dev) { let n = bail!("no"); d.get_or_load_func(n, &M); }', "*"),
        ('const F: Loader = |d: &Dev| d.get_or_load_func("x", &M);', "*"),
        ("fn go(d: &Dev) { each(d, load) }\npub fn load(d: &Dev, n: &str) { d.get_or_load_func(n, &M); }", "*"),
        ('fn go(d: &Dev) { d.get_or_load_func(&format!("{}_{}", outside::root(), outside::tag()), &M); }', "*_*"),
    ],
)
def test_what_is_not_followed_is_reported(tmp_path: Path, code: str, pattern: str) -> None:
    wiring = analyse(tmp_path, code)
    assert [(one.at, one.pattern) for one in wiring.unresolved] == [
        (f"candle-core/src/cuda_backend/mod.rs:{LINE + 1}", pattern)
    ]
    assert asked(wiring) == set()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("outside::name()", {"toy_u8"}),
        ('format!("{}_f32", outside::root())', {"toy_u8", "toy_f64", "toy_f8_e4m3"}),
        ('format!("other_{}", outside::name())', {"toy_u8", "toy_f32", "toy_f64", "toy_f8_e4m3"}),
    ],
)
def test_what_an_unresolved_load_may_ask_for_is_not_told(tmp_path: Path, name: str, told: set[str]) -> None:
    code = f'fn go(d: &Dev) {{ d.get_or_load_func("toy_u8", &M); d.get_or_load_func(&{name}, &kernels::TOY); }}'
    wiring = analyse(tmp_path, code)
    assert [(one.at, one.module) for one in wiring.unresolved] == [
        (f"candle-core/src/cuda_backend/mod.rs:{LINE + 1}", "toy")
    ]
    assert wiring.kernels.keys() - wiring.not_told.keys() == told
    assert asked(wiring) == {"toy_u8"}


def test_an_unknown_part_wires_the_kernels_that_fit(tmp_path: Path) -> None:
    wiring = analyse(tmp_path, 'fn go(d: &Dev, n: &str) { d.get_or_load_func(&format!("toy_{n}"), &M); }')
    assert asked(wiring) == {"toy_u8", "toy_f32", "toy_f64", "toy_f8_e4m3"}
    assert {ask.pattern for asks in wiring.kernels.values() for ask in asks} == {"toy_*"}
    assert wiring.unresolved == ()
