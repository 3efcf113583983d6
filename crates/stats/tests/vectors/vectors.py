"""Makes `vectors.json` and `change_points.json` beside this file: inputs, and what numpy, scipy, statsmodels and ruptures make of them.

`make vectors` runs it with the versions of `requirements.txt`. It says how far each new figure is from the one that stood there, writes
both files, and ends with status 1 where that is more than a relative 1e-9. It uses no line of surefoot's code: formulas stand here once more,
by other means where there are any (`scipy.stats.ttest_1samp`, `anova_lm`, `false_discovery_control`, `permutation_test`, `nct`).
"""

import importlib.metadata
import itertools
import json
import math
import pathlib
import sys

import numpy as np
import pandas as pd
import ruptures
import statsmodels.api as sm
from scipy import integrate, optimize, signal, stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.multitest import multipletests

HERE = pathlib.Path(__file__).parent
DIGITS = 10
TOLERANCE = 1e-9

# Transactions per second of a study: two factors, six rounds.
CELLS = ["ext4/128M", "ext4/2G", "xfs/128M", "xfs/2G", "btrfs/128M", "btrfs/2G"]
TPS = [
    [2990, 3015, 2931, 2954, 2876, 2902],
    [3871, 3790, 3843, 3702, 3748, 3661],
    [3081, 3120, 3012, 3077, 2940, 3015],
    [3953, 4011, 3890, 3902, 3799, 3766],
    [2655, 2702, 2610, 2588, 2571, 2493],
    [3215, 3120, 3188, 3049, 3102, 2990],
]
Y = np.log(TPS)
ROUNDS = Y.shape[1]
OF = {label: Y[index] for index, label in enumerate(CELLS)}
FACTORS = [tuple(label.split("/")) for label in CELLS]


def by_cell(values):
    return dict(zip(CELLS, values))


def half(level):
    """Per round the mean of the cells that have this level of either factor."""
    return Y[[index for index, levels in enumerate(FACTORS) if level in levels]].mean(axis=0)


def interval(values, confidence=0.95):
    """A one-sample t interval, by scipy's own test."""
    values = np.asarray(values, dtype=float)
    test = stats.ttest_1samp(values, 0.0)
    low, high = test.confidence_interval(confidence)
    return {
        "n": len(values),
        "mean": values.mean(),
        "sd": values.std(ddof=1),
        "se": stats.sem(values),
        "t_crit": stats.t.ppf((1 + confidence) / 2, len(values) - 1),
        "half_width": (high - low) / 2,
        "lo": low,
        "hi": high,
    }, test


def contrast(d):
    found, test = interval(d)
    ratios = {"ratio": math.exp(found["mean"]), "ratio_lo": math.exp(found["lo"]), "ratio_hi": math.exp(found["hi"])}
    return {"d": d, **found, "t": test.statistic, "p": test.pvalue, **ratios}


PAIR = OF["xfs/2G"] - OF["ext4/2G"]
FILESYSTEM = half("xfs") - half("ext4")
BUFFER = half("2G") - half("128M")
INTERACTION = (OF["btrfs/2G"] - OF["btrfs/128M"]) - (OF["ext4/2G"] - OF["ext4/128M"])


def sign_flip(d):
    """All sign patterns, by scipy's exact permutation test of one sample."""
    test = stats.permutation_test((d,), np.sum, permutation_type="samples", n_resamples=np.inf)
    return test.pvalue


def d0():
    out = {
        "geomean": by_cell(stats.gmean(TPS, axis=1)),
        "median": by_cell(np.median(TPS, axis=1)),
        "sd_log": by_cell(Y.std(axis=1, ddof=1)),
    }
    return {"cells": CELLS, "blocks": ROUNDS, "tps": TPS}, out


def signed_rank():
    d = [0.021, 0.034, -0.004, 0.018, 0.027, 0.009, 0.041, 0.015, 0.03, 0.012]
    n = len(d)
    walsh = sorted((d[i] + d[j]) / 2 for i in range(n) for j in range(i, n))
    # How often each sum of ranks comes up among the 2^n choices of signs.
    counts = np.array([1])
    for rank in range(1, n + 1):
        counts = np.convolve(counts, [1] + [0] * (rank - 1) + [1])
    below = np.cumsum(counts) / 2**n
    c = max(c for c in range(1, len(walsh)) if below[c - 1] <= 0.025)
    test = stats.wilcoxon(d, method="exact")
    out = {
        "HL": np.median(walsh),
        "c": c,
        "lo": walsh[c - 1],
        "hi": walsh[len(walsh) - c],
        "exact_confidence": 1 - 2 * below[c - 1],
        "W_min": test.statistic,
        "p_exact": test.pvalue,
        "p_signflip": sign_flip(d),
        "t_interval": interval(d)[0],
    }
    return {"d": d}, out


def median_ranks():
    counts = [6, 8, 10, 15, 20, 30]
    out = {}
    for n in counts:
        covered = lambda j: 1 - 2 * stats.binom.cdf(j - 1, n, 0.5)
        rank = max(j for j in range(1, n // 2 + 1) if covered(j) >= 0.95)
        out[str(n)] = {"lo_rank": rank, "hi_rank": n + 1 - rank, "coverage": covered(rank)}
    return {"n": counts}, out


def welch():
    a = [103.2, 99.8, 101.5, 104.4, 98.7, 102.1]
    b = [97.3, 100.2, 95.9, 98.8, 96.4, 99.1]
    test = stats.ttest_ind(a, b, equal_var=False)
    low, high = test.confidence_interval(0.95)
    return {"a": a, "b": b}, {"t": test.statistic, "df": test.df, "p": test.pvalue, "lo": low, "hi": high}


def table(rounds):
    """Sums of squares of these rounds by least squares."""
    rows = [
        {"y": Y[cell, r], "block": str(r), "fs": FACTORS[cell][0], "buf": FACTORS[cell][1]}
        for cell in range(len(CELLS))
        for r in rounds
    ]
    found = anova_lm(ols("y ~ C(block) + C(fs) * C(buf)", pd.DataFrame(rows)).fit(), typ=2)
    found.index = ["block", "fs", "buf", "fsxbuf", "resid"]
    return found, len(rows)


def shares(rounds):
    found, count = table(rounds)
    noise = found.sum_sq["resid"] / found.df["resid"]
    excess = {name: max(0.0, (found.sum_sq[name] - found.df[name] * noise) / count) for name in ["fs", "buf", "fsxbuf"]}
    whole = sum(excess.values()) + noise
    return {**{name: value / whole for name, value in excess.items()}, "noise": noise / whole}


def importance():
    found, _ = table(range(ROUNDS))
    sums, terms = found.sum_sq, ["fs", "buf", "fsxbuf"]
    noise = sums["resid"] / found.df["resid"]
    of_rounds = (sums["block"] / found.df["block"] - noise) / len(CELLS)
    cells = sum(sums[name] for name in terms)
    levels = {level: math.exp(half(level).mean()) for level in ["ext4", "xfs", "btrfs", "128M", "2G"]}
    left_out = [shares([r for r in range(ROUNDS) if r != out]) for out in range(ROUNDS)]
    ratio = lambda high, low: (levels[high] / levels[low] - 1) * 100
    out = {
        "SS": sums.to_dict(),
        "df": {name: int(count) for name, count in found.df.items()},
        "MSE": noise,
        "F": found.F.dropna().to_dict(),
        "p": found["PR(>F)"].dropna().to_dict(),
        "eta2_of_cells_plus_noise": {name: sums[name] / (cells + sums["resid"]) for name in terms},
        "partial_eta2": {name: sums[name] / (sums[name] + sums["resid"]) for name in terms},
        "importance_share_omega2": shares(range(ROUNDS)),
        "sigma_run": math.sqrt(noise),
        "sigma2_block": of_rounds,
        "sigma_block": math.sqrt(of_rounds),
        "marginal_geomean": levels,
        "swing_pct": {"fs": ratio("xfs", "btrfs"), "buf": ratio("2G", "128M")},
        "importance_share_leave_one_block_out_range": {
            name: [min(one[name] for one in left_out), max(one[name] for one in left_out)] for name in [*terms, "noise"]
        },
    }
    return {"data": "D0"}, out


def family():
    pairs = [("xfs", "ext4"), ("btrfs", "ext4"), ("btrfs", "xfs"), ("2G", "128M")]
    claims = [contrast(half(a) - half(b)) for a, b in pairs]
    p = [claim["p"] for claim in claims]
    both = stats.t.ppf(0.975, ROUNDS - 1) + stats.t.ppf(0.80, ROUNDS - 1)
    out = {
        "ratio": [claim["ratio"] for claim in claims],
        "lo": [claim["ratio_lo"] for claim in claims],
        "hi": [claim["ratio_hi"] for claim in claims],
        "p": p,
        "p_holm": multipletests(p, method="holm")[1],
        "mde80_pct_approx": [math.expm1(both * claim["se"]) * 100 for claim in claims],
    }
    return {"data": "D0", "family": [f"{a}-{b}" for a, b in pairs]}, out


def best():
    alpha, count = 0.05, len(CELLS)
    q = stats.t.ppf(1 - alpha / (count - 1), ROUNDS - 1)

    def bound(i):
        d = [Y[j] - Y[i] for j in range(count) if j != i]
        return max(0, *(one.mean() + q * stats.sem(one) for one in d))

    regret = [bound(i) for i in range(count)]
    in_set = lambda i: all((Y[i] - Y[j]).mean() + q * stats.sem(Y[i] - Y[j]) >= 0 for j in range(count) if j != i)
    out = {
        "q": q,
        "L_log": by_cell(regret),
        "L_pct": by_cell(np.expm1(regret) * 100),
        "loss_pct_of_optimum": by_cell([-math.expm1(-one) * 100 + 0.0 for one in regret]),
        "best_set": [CELLS[i] for i in range(count) if in_set(i)],
        "pick": CELLS[int(np.argmax(Y.mean(axis=1)))],
    }
    return {"data": "D0", "alpha": alpha}, out


def multiplicity():
    p = [0.0004, 0.019, 0.031, 0.012, 0.41]
    adjusted = lambda method: multipletests(p, method=method)[1]
    return {"p": p}, {
        "holm": adjusted("holm"),
        "bh": stats.false_discovery_control(p, method="bh"),
        "bonferroni": adjusted("bonferroni"),
    }


def verdicts():
    cases = {
        "x1": [0.051, 0.043, 0.06, 0.047, 0.055, 0.049],
        "x2": [0.004, -0.003, 0.006, 0.001, -0.002, 0.003],
        "x3": [0.012, 0.009, 0.011, 0.01, 0.013, 0.008],
        "x4": [0.08, -0.05, 0.11, -0.02, 0.03, 0.06],
        "x5": [-0.071, -0.064, -0.08, -0.066, -0.075, -0.069],
    }
    margin = math.log1p(0.03)

    def verdict(d):
        low, high = interval(d)[1].confidence_interval(0.95)
        two_sided = max(
            stats.ttest_1samp(d, -margin, alternative="greater").pvalue,
            stats.ttest_1samp(d, margin, alternative="less").pvalue,
        )
        differs = low > 0 or high < 0
        words = {
            (True, True): "real but negligible",
            (True, False): "faster" if low > 0 else "slower",
            (False, True): "equivalent",
            (False, False): "inconclusive",
        }[differs, bool(two_sided < 0.05)]
        narrow = interval(d)[1].confidence_interval(0.90)
        return {
            "mean": np.mean(d),
            "se": stats.sem(d),
            "ci95": [low, high],
            "ci90": [narrow.low, narrow.high],
            "p_tost": two_sided,
            "verdict": words,
        }

    return {"delta": 0.03, "cases": cases}, {name: verdict(d) for name, d in cases.items()}


def noncentrality(rounds, power, family=1):
    """Of the two-sided t test at 5 % over the family's size that sees an effect with this power."""
    critical, freedom = stats.t.ppf(1 - 0.025 / family, rounds - 1), rounds - 1
    # Over the estimated deviation, in true ones: SciPy's own distribution (nctdtr) is NaN here and there.
    deviation = lambda s: stats.chi.pdf(s, freedom, scale=1 / math.sqrt(freedom))
    beyond = lambda s, shift: stats.norm.sf(critical * s - shift) + stats.norm.sf(critical * s + shift)
    whole = lambda shift: integrate.quad(lambda s: beyond(s, shift) * deviation(s), 0, 6, epsabs=1e-14, epsrel=1e-12, limit=500)
    seen = lambda shift: whole(shift)[0]
    return optimize.brentq(lambda shift: seen(shift) - power, 1.0, 20.0, xtol=1e-13, rtol=1e-14)


def detectable():
    deviation, out = 0.03, {}
    for rounds in [6, 8, 10, 15, 20, 30]:
        shift = noncentrality(rounds, 0.8)
        exact = shift * deviation / math.sqrt(rounds)
        both = stats.t.ppf(0.975, rounds - 1) + stats.t.ppf(0.80, rounds - 1)
        out[str(rounds)] = {
            "noncentrality_80": shift,
            "mde_log_exact": exact,
            "mde_pct_exact": math.expm1(exact) * 100,
            "mde_log_approx": both * deviation / math.sqrt(rounds),
        }
    return {"s_d": deviation, "alpha": 0.05, "power": 0.8}, out


def detectable_in_a_family():
    """At the first step of Holm's correction."""
    out = []
    for deviation, rounds in [(0.05, 6), (0.03, 10)]:
        for family in [1, 3, 6, 28]:
            exact = noncentrality(rounds, 0.8, family) * deviation / math.sqrt(rounds)
            case = {"s_d": deviation, "rounds": rounds, "family": family}
            out.append({**case, "mde_log_exact": exact, "mde_pct_exact": math.expm1(exact) * 100})
    return {"alpha": 0.05, "power": 0.8}, out


def rounds_needed():
    deviations, goal = [0.02, 0.03, 0.05], 0.0198026273
    # Fewer rounds than four are never enough here, and their noncentrality is out of bounds.
    first = lambda enough: next(rounds for rounds in itertools.count(4) if enough(rounds))
    width = lambda s: first(lambda b: stats.t.ppf(0.975, b - 1) * s / math.sqrt(b) <= goal)
    effect = lambda s: first(lambda b: noncentrality(b, 0.8) * s / math.sqrt(b) <= goal)
    out = {"b_for_halfwidth": [width(s) for s in deviations], "b_for_mde": [effect(s) for s in deviations]}
    return {"s_d": deviations, "h": goal, "mde": goal}, out


def steady_state():
    cases = {
        "s1": [10450, 10210, 10010, 9930, 9900],
        "s2": [11200, 10700, 10300, 9900, 9800],
        "s3": [10000, 12100, 9900, 10100, 10050],
    }

    def one(values):
        mean, slope = np.mean(values), stats.linregress(range(5), values).slope
        spread, excursion = np.ptp(values) / mean * 100, abs(slope) * 4 / mean * 100
        return {
            "mean": mean,
            "range_pct": spread,
            "slope_per_round": slope,
            "slope_excursion_pct": excursion,
            "steady": bool(spread <= 20 and excursion <= 10),
        }

    return cases, {name: one(values) for name, values in cases.items()}


def autocorrelation():
    x = [100, 103, 101, 98, 97, 99, 104, 106, 103, 100, 96, 95, 99, 102, 105, 101, 98, 97, 100, 102]
    x = [float(value) for value in x]
    centred = np.array(x) - np.mean(x)
    correlated = signal.correlate(centred, centred)[len(x) - 1 :]
    r1 = correlated[1] / correlated[0]
    batches = np.reshape(x, (5, 4)).mean(axis=1)
    out = {
        "r1": r1,
        "n_eff": len(x) * (1 - r1) / (1 + r1),
        "naive_se": stats.sem(x),
        "batch_means": batches,
        "batch_ci": interval(batches)[0],
    }
    return {"x": x}, out


def geomean():
    a, b = np.array([120.0, 15.0, 300.0]), np.array([100.0, 20.0, 240.0])
    out = {
        "gm_ratio": stats.gmean(a / b),
        "ratio_gm": stats.gmean(a) / stats.gmean(b),
        "am_a_over_b": np.mean(a / b),
        "am_b_over_a": np.mean(b / a),
        "hm_rates_a": stats.hmean(a),
    }
    return {"a": a, "b": b}, out


def modified_z():
    x = [0.0, 0.012, -0.008, 0.004, -0.015, 0.009, 0.002, -0.171, 0.006, -0.003]
    middle, spread = np.median(x), stats.median_abs_deviation(x)
    score = 0.6745 * (np.array(x) - middle) / spread
    out = {
        "median": middle,
        "MAD": spread,
        "M": score,
        "flag": [bool(abs(one) > 3.5) for one in score],
        "mean_with": np.mean(x),
        "mean_without": np.mean([value for value, one in zip(x, score) if abs(one) <= 3.5]),
        "max_possible_population_z_n10": math.sqrt(len(x) - 1),
    }
    return {"x": x}, out


def drift():
    rounds = Y.mean(axis=0)
    line = stats.linregress(range(ROUNDS), rounds)
    residuals = Y - Y.mean(axis=1, keepdims=True) - rounds + Y.mean()
    out = {
        "block_means": rounds,
        "slope": line.slope,
        "slope_p": line.pvalue,
        "drift_pct_over_study": math.expm1(line.slope * (ROUNDS - 1)) * 100,
        "resid_sd": math.sqrt((residuals**2).sum() / ((len(CELLS) - 1) * (ROUNDS - 1))),
    }
    return {"data": "D0"}, out


def plackett_burman():
    generator = [1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1]
    y = [8.072, 8.252, 7.943, 8.275, 8.249, 8.146, 8.056, 7.949, 7.927, 8.142, 8.054, 8.135]
    design = np.array([np.roll(generator, shift) for shift in range(11)] + [[-1] * 11])
    # One of them is zero but for rounding.
    effects = np.round(design.T @ np.array(y) / 6, 14) + 0.0
    size, m = np.abs(effects), 11
    s0 = 1.5 * np.median(size)
    pse = 1.5 * np.median(size[size < 2.5 * s0])
    out = {
        "design": design,
        "effects": effects,
        "s0": s0,
        "PSE": pse,
        "ME": stats.t.ppf(0.975, m / 3) * pse,
        "SME": stats.t.ppf((1 + 0.95 ** (1 / m)) / 2, m / 3) * pse,
    }
    return {"generator": generator, "y_log": y}, out


def half_fraction():
    y = np.array([8.0, 8.21, 8.05, 8.3, 8.02, 8.25, 8.06, 8.33])
    design = np.array([[a, b, c, a * b * c] for c in (-1, 1) for b in (-1, 1) for a in (-1, 1)])
    effects = design.T @ y / 4
    return {"order": "A fastest", "y_log": y}, {
        "design": design,
        "effects_ABCD": effects,
        "AB_plus_CD": (design[:, 0] * design[:, 1]) @ y / 4,
    }


DATA = {"data": "D0"}
# Rates of eight turns of three seconds in six rounds, of two scenarios.
TURN_SECONDS = 3.0
TURNS_A = [
    [985.524, 1026.544, 973.921, 884.368, 937.032, 838.064, 1008.177, 1248.436],
    [994.174, 949.04, 707.734, 900.298, 991.783, 1044.489, 781.119, 927.73],
    [906.453, 1377.238, 1170.574, 818.597, 1017.422, 1075.305, 975.798, 1069.104],
    [920.981, 976.575, 1220.341, 1104.936, 946.485, 915.112, 962.833, 1240.137],
    [803.655, 1033.844, 781.087, 747.883, 950.313, 868.344, 1046.741, 1422.35],
    [961.763, 936.176, 957.762, 758.591, 847.23, 1008.356, 754.417, 1185.592],
]
TURNS_B = [
    [1008.686, 1083.15, 951.832, 883.835, 928.057, 898.517, 1019.985, 1294.288],
    [1078.549, 1022.923, 693.867, 970.708, 1085.759, 1019.561, 856.459, 980.893],
    [937.246, 1409.122, 1209.361, 907.786, 1020.468, 1117.903, 1040.686, 1095.766],
    [1014.401, 1055.263, 1266.957, 1187.977, 989.567, 1025.384, 1011.161, 1342.886],
    [838.74, 1103.423, 815.967, 749.654, 1010.974, 894.1, 1108.004, 1478.881],
    [1062.062, 953.056, 1026.549, 755.688, 915.794, 1090.82, 761.831, 1164.14],
]


def turns():
    """One contrast a round: the work of all turns over their time."""
    whole = lambda rounds: np.array([np.sum(np.array(rates) * TURN_SECONDS) / (len(rates) * TURN_SECONDS) for rates in rounds])
    return {"a": TURNS_A, "b": TURNS_B, "seconds": TURN_SECONDS}, contrast(np.log(whole(TURNS_B) / whole(TURNS_A)))


def over_hosts(rounds):
    """A contrast over hosts with so many rounds each: Paule and Mandel's tau by a root finder, the rest by statsmodels' regressions."""
    rounds = [np.asarray(values) for values in rounds]
    count = len(rounds)
    d = np.array([values.mean() for values in rounds])
    degrees = sum(len(values) - 1 for values in rounds)
    within = sum(((values - values.mean()) ** 2).sum() for values in rounds) / degrees
    v = within / np.array([len(values) for values in rounds])

    def fit(tau2):
        return sm.WLS(d, np.ones(count), weights=1 / (v + tau2)).fit()

    def excess(tau2):
        return fit(tau2).scale - 1

    tau2 = 0.0 if excess(0.0) <= 0 else optimize.brentq(excess, 0.0, 100.0, xtol=1e-300, rtol=1e-15, maxiter=1000)
    found = fit(tau2)
    low, high = found.conf_int(0.05)[0]
    t_crit = stats.t.ppf(0.975, count - 1)
    # A further host's figure: what hosts differ by, what its rounds leave, and what is not known of the mean.
    spread = math.sqrt(found.scale * (tau2 + v.mean()) + found.bse[0] ** 2)
    known = combine_effects(d, v, method_re="iterated", use_t=True)
    return {"rounds": rounds}, {
        "mean": found.params[0],
        "se": found.bse[0],
        "lo": low,
        "hi": high,
        "p": found.pvalues[0],
        "tau": math.sqrt(tau2),
        "i2": max(0.0, known.i2),
        "predict_lo": found.params[0] - t_crit * spread,
        "predict_hi": found.params[0] + t_crit * spread,
        "unweighted_mean": d.mean(),
        "unweighted_half_width": interval(d)[0]["half_width"],
        "these_hosts_half_width": these_hosts(rounds),
    }


def these_hosts(rounds):
    """Half the width over these hosts only: a variance a host, Satterthwaite's degrees of freedom, rounded down; none with a single round."""
    if any(len(values) < 2 for values in rounds):
        return None
    v = np.array([values.var(ddof=1) / len(values) for values in rounds])
    degrees = v.sum() ** 2 / (v**2 / np.array([len(values) - 1 for values in rounds])).sum()
    return stats.t.ppf(0.975, math.floor(degrees)) * math.sqrt(v.sum()) / len(rounds)


def fleet(seed, counts, tau, deviation):
    random = np.random.default_rng(seed)
    hosts = 0.05 + tau * random.standard_normal(len(counts))
    return [np.round(host + deviation * random.standard_normal(count), 6) for host, count in zip(hosts, counts)]


VECTORS = [
    ("D0.dataset", 'all vectors with data="D0" use ln(tps); row=cell, column=block', d0()),
    (
        "C1.pair_contrast",
        "d_j=ln(y_A,j/y_B,j) per block; mean +- t(0.975,b-1)*sd/sqrt(b); ratio=exp",
        ({**DATA, "A": "xfs/2G", "B": "ext4/2G"}, contrast(PAIR)),
    ),
    (
        "C2.main_effect_contrast",
        "per block: mean over cells with fs=xfs minus mean over cells with fs=ext4; then as C1",
        (DATA, contrast(FILESYSTEM)),
    ),
    ("T1.turns", "per block: ln of (sum of work / sum of time) of B less that of A; then as C1", turns()),
    ("C3.main_effect_buffer", "per block: mean(2G cells)-mean(128M cells)", (DATA, contrast(BUFFER))),
    (
        "C4.interaction_contrast",
        "per block: (btrfs2G-btrfs128M)-(ext4_2G-ext4_128M); exp = ratio of ratios",
        (DATA, contrast(INTERACTION)),
    ),
    (
        "C5.sign_flip_p",
        "exact two-sided: share of the 2^b sign patterns with |sum s_j d_j| >= |sum d_j|",
        ({"d_from": ["C1", "C2", "C3", "C4"]}, {"p": [sign_flip(d) for d in (PAIR, FILESYSTEM, BUFFER, INTERACTION)]}),
    ),
    (
        "N1.wilcoxon_HL_one_sample",
        "HL=median of the n(n+1)/2 Walsh averages; CI=[W_(c),W_(M+1-c)], c=largest with P(T+<=c-1)<=0.025",
        signed_rank(),
    ),
    (
        "N2.median_order_stat_CI",
        "ranks j, n+1-j with largest j s.t. 1-2*BinomCDF(j-1;n,1/2)>=0.95; needs n>=6",
        median_ranks(),
    ),
    ("N4.welch", "unpaired Welch t and Satterthwaite df (fallback when blocks are unusable)", welch()),
    (
        "A1.anova_rcbd_importance",
        "balanced RCBD on ln y; theta_i=max(0,(SS_i-df_i*MSE)/N); share_i=theta_i/(sum theta+MSE), "
        "noise=MSE/(sum theta+MSE); eta2=SS_i/(SS_cells+SS_E)",
        importance(),
        "SS by statsmodels anova_lm",
    ),
    (
        "M2.primary_family_D0",
        "all pairwise main-effect contrasts as C2 + Holm; MDE80_pct=exp((t(.975,b-1)+t(.80,b-1))*sd/sqrt b)-1",
        family(),
    ),
    (
        "B1.regret_bound_best_set",
        "q=t(1-alpha/(k-1),b-1); L_i=max(0,max_{j!=i}(mean(d_ji)+q*sd(d_ji)/sqrt b)), d_ji=ln y_j-ln y_i; "
        'best set={i: mean(d_ij)+q*se_ij>=0 for all j}; "within x%" iff L_i<=ln(1+x)',
        best(),
    ),
    (
        "M1.holm_bh",
        "Holm: sort, adj_(i)=max_{j<=i} min(1,(m-j+1)p_(j)); BH: adj_(i)=min_{j>=i} min(1,m p_(j)/j)",
        multiplicity(),
    ),
    (
        "E1.verdict_tost",
        "margin D=ln(1+delta), delta=0.03; equivalent iff 90% t CI inside (-D,D) (TOST p<0.05); "
        'sig iff 95% CI excludes 0; both => "real but negligible"',
        verdicts(),
    ),
    (
        "P1.minimum_detectable_effect",
        "MDE=lambda*s_d/sqrt(b), lambda solves P(|t_{b-1}(lambda)|>t(0.975,b-1))=0.8; approx lambda=t(.975)+t(.80); "
        "percent=exp(MDE)-1",
        detectable(),
    ),
    (
        "P4.minimum_detectable_effect_in_a_family",
        "as P1 at alpha over the family's size: the level of the first step of Holm's correction",
        detectable_in_a_family(),
    ),
    (
        "P2.blocks_needed",
        "smallest b with t(.975,b-1)s/sqrt b<=h ; smallest b with MDE<=target (80% power)",
        rounds_needed(),
    ),
    ("W2.snia_steady_state", "5 rounds: max-min<=20% of mean AND |LSQ slope|*4<=10% of mean", steady_state()),
    (
        "W3.autocorrelation",
        "r1=sum (x_t-m)(x_{t+1}-m)/sum (x_t-m)^2; n_eff=n(1-r1)/(1+r1); batch-means CI with 5 batches of 4",
        autocorrelation(),
    ),
    ("G1.geomean", "geomean of ratios = ratio of geomeans; arithmetic mean of ratios is not reversible", geomean()),
    (
        "O1.modified_z",
        "M=0.6745*(x-med)/MAD; flag |M|>3.5; never dropped automatically",
        modified_z(),
        "a 3-sigma rule with the population SD can never fire for n<=10 since max|z|=sqrt(n-1)",
    ),
    (
        "X1.drift",
        "trend of block means of ln y: LSQ slope per block, percent over study = exp(slope*(b-1))-1; "
        "residual r_ij=y-cell-block+grand",
        drift(),
    ),
    (
        "S1.plackett_burman12_lenth",
        "rows=cyclic right shifts of generator + row of -1; effect_j=2/12*sum x_ij*y_i; Lenth s0=1.5 med|e|, "
        "PSE=1.5 med{|e|<2.5 s0}, ME=t(.975,m/3)PSE, SME=t((1+.95^(1/m))/2,m/3)PSE; add foldover (-X) for resolution IV",
        plackett_burman(),
    ),
    (
        "S2.half_fraction_2_4_1",
        "D=ABC, resolution IV, I=ABCD; effect=mean(+)-mean(-); AB aliased with CD",
        half_fraction(),
    ),
    (
        "H1.hosts_equal",
        "per host the mean of its rounds; pooled variance within hosts / rounds; random effects by Paule-Mandel and Hartung-Knapp, "
        "t(0.975,H-1); a further host: sqrt(q (tau^2 + mean v) + se^2)",
        over_hosts(fleet(1, [3] * 8, 0.03, 0.02)),
    ),
    ("H2.hosts_unequal", "as H1, with rounds missing", over_hosts(fleet(2, [6, 2, 3, 1, 6, 4, 5, 2, 6, 3], 0.04, 0.03))),
    ("H3.hosts_alike", "as H1, where hosts stray less than their rounds say", over_hosts(fleet(5, [4, 4, 3, 4], 0.0, 0.05))),
    ("H4.hosts_many", "as H1, 64 hosts", over_hosts(fleet(4, [3, 2] * 32, 0.05, 0.02))),
]

# Of each series a seed and its parts: their length, their level, and what their noise of -50 to 50 is multiplied by.
SERIES = [
    (1, [(60, 1000, 1)]),
    (2, [(20, 600, 1), (60, 1000, 1)]),
    (3, [(40, 1000, 1), (40, 930, 1)]),
    (4, [(50, 1000, 0.2), (50, 1000, 3)]),
    (5, [(30, 800, 1), (30, 1000, 1), (30, 800, 1), (30, 1000, 1)]),
    (6, [(100, 1000, 1), (12, 400, 2), (100, 1000, 1)]),
]


def series(seed, parts):
    state, values = seed, []
    for length, level, spread in parts:
        for _ in range(length):
            # The generator of the C standard's example.
            state = (state * 1_103_515_245 + 12_345) % 2**31
            values.append(level + spread * ((state >> 16) % 101 - 50))
    return values


def changes(values):
    """By PELT, of mean and variance, with the penalty of 15 ln n."""
    cost = ruptures.costs.CostNormal(add_small_diag=False)
    pelt = ruptures.Pelt(custom_cost=cost, min_size=5, jump=1).fit(np.array(values, dtype=float))
    return pelt.predict(pen=15 * math.log(len(values)))[:-1]


def plain(value):
    """Lists, dictionaries and numbers of ten digits, as JSON has them."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(inner) for inner in value]
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    return float(f"{float(value):.{DIGITS}g}")


def versions(*packages):
    return {package: importlib.metadata.version(package) for package in packages}


def distance(new, old, path):
    """The largest relative distance of a figure, and where; infinite where the shapes differ."""
    if isinstance(new, dict) and isinstance(old, dict) and new.keys() == old.keys():
        return max((distance(new[name], old[name], f"{path}.{name}") for name in new), default=(0.0, path))
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return max((distance(*both, f"{path}[{at}]") for at, both in enumerate(zip(new, old))), default=(0.0, path))
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (new, old))
    if numbers:
        # What is zero but for rounding is zero.
        return (0.0 if abs(new - old) < 1e-14 else abs(new - old) / max(abs(old), 1e-300), path)
    return (0.0 if new == old else math.inf, path)


def renew(name, new, indent):
    """Writes the file, and says how far it is from what stood there; whether that is near enough."""
    path = HERE / name
    old = json.loads(path.read_text()) if path.exists() else {}
    text = json.dumps(new, indent=indent)
    path.write_text(text + "\n")
    # Versions may differ: that the figures stay is what is asked.
    made_with = new.pop("generated_with")
    old.pop("generated_with", None)
    far, where = distance(new, old, "")
    words = ", ".join(f"{package} {version}" for package, version in made_with.items())
    print(f"{name}, with {words}: at most {far:.1e} from what stood there{f' ({where})' if far else ''}; {TOLERANCE} is allowed")
    return far <= TOLERANCE


def main():
    vectors = [
        plain({"id": name, "formula": formula, "in": found[0], "out": found[1], **({"note": note[0]} if note else {})})
        for name, formula, found, *note in VECTORS
    ]
    lines = [{"seed": seed, "values": plain(values), "changes": plain(changes(values))} for seed, values in
             ((seed, series(seed, parts)) for seed, parts in SERIES)]
    near = [
        renew("vectors.json", {"generated_with": versions("numpy", "scipy", "statsmodels"), "digits": DIGITS, "vectors": vectors}, 1),
        renew("change_points.json", {"generated_with": versions("ruptures"), "series": lines}, None),
    ]
    sys.exit(0 if all(near) else 1)


if __name__ == "__main__":
    main()
