"""Speed ratios as they are printed."""


def report(title: str, result: dict, targets: dict) -> None:
    """Print one comparison; `targets` are the ratios aimed at."""
    ours = result["ours"]
    print(f"\n{title} (CPU time on one core, but for the last line)")
    print(
        f"  pymc_mrf ({result['kernel']}): {ours:.3f} ns per spin update; from int8 rows to int8 rows, "
        f"tables included: {result['ours_ten_sweeps']:.3f} ns at 10 sweeps, "
        f"{result['ours_one_sweep']:.3f} ns at one sweep"
    )
    for label, key in (
        ("the obvious loop", "loop"),
        (f"dwave-samplers {result['dwave_version']}, Gibbs, fixed temperature", "dwave"),
        (f"thrml {result['thrml_version']}, compiled beforehand", "thrml"),
        (f"thrml {result['thrml_version']}, on {result['cores']} cores, wall time", "thrml_all"),
    ):
        target = f" (target: {targets[key]})" if key in targets else ""
        print(
            f"  {label}: {result[key]:.1f} ns, {result[key] / ours:.0f} times{target}; "
            f"{result[key] / result['ours_ten_sweeps']:.0f} times at 10 sweeps, rows to rows"
        )
