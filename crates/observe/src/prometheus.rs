//! Histograms that servers publish as text (prometheus.io, "Exposition formats"): counts of what took at most so long, since the server started.

/// A histogram: ascending bounds, and how many values were at most as large as each.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    buckets: Vec<(f64, f64)>,
}

impl Histogram {
    /// The histogram of this name, without labels but its bounds. None: there is none, or it is not one.
    pub fn read(text: &str, name: &str) -> Option<Histogram> {
        let bucket = |line: &str| -> Option<(f64, f64)> {
            let rest = line.strip_prefix(name)?.strip_prefix("_bucket{le=\"")?;
            let (bound, count) = rest.split_once("\"} ")?;
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
            Some((bound, count.trim().parse().ok()?))
        };
        let buckets: Vec<(f64, f64)> = text.lines().filter_map(bucket).collect();
        let ascends = buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1);
        let is_whole = buckets.last().is_some_and(|last| last.0 == f64::INFINITY) && buckets[0].1 >= 0.0;
        (ascends && is_whole).then_some(Histogram { buckets })
    }

    /// What was counted since `before`; none where that is another histogram, or of another server.
    pub fn since(&self, before: &Histogram) -> Option<Histogram> {
        let pairs = || self.buckets.iter().zip(&before.buckets);
        let is_same = self.buckets.len() == before.buckets.len() && pairs().all(|(now, then)| now.0 == then.0);
        let buckets: Vec<(f64, f64)> = pairs().map(|(now, then)| (now.0, now.1 - then.1)).collect();
        (is_same && buckets.is_sorted_by(|a, b| a.1 <= b.1) && buckets[0].1 >= 0.0).then_some(Histogram { buckets })
    }

    /// How many values it has.
    pub fn count(&self) -> f64 {
        self.buckets.last().map_or(0.0, |last| last.1)
    }

    /// The quantile as Prometheus' `histogram_quantile` has it: straight between a bucket's bounds, of which the first one's lower is 0, and the
    /// largest finite bound for all that is beyond. None without values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = share * self.count();
        if self.count() <= 0.0 {
            return None;
        }
        let index = self.buckets.iter().position(|(_, count)| *count >= rank)?;
        let (low, below) = index.checked_sub(1).map_or((0.0, 0.0), |before| self.buckets[before]);
        let (high, count) = self.buckets[index];
        match () {
            () if high.is_infinite() => Some(low),
            () if count <= below => Some(high),
            () => Some(low + (high - low) * (rank - below) / (count - below)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As etcd 3.4 says it.
    const TEXT: &str = "# TYPE wal histogram\nwal_bucket{le=\"0.001\"} 0\nwal_bucket{le=\"0.002\"} 3\nwal_bucket{le=\"0.004\"} 4\n\
                        wal_bucket{le=\"+Inf\"} 6\nwal_sum 0.02\nwal_count 6\nwall_bucket{le=\"+Inf\"} 9\n";

    #[test]
    fn quantiles_are_those_of_prometheus() {
        let found = Histogram::read(TEXT, "wal").expect("a histogram");
        assert_eq!(found.count(), 6.0);
        // A third of the way through the three values between 1 and 2 ms; the rank 3 is its end; beyond 4 ms the bound is all that is known.
        let near = |share: f64, wanted: f64| {
            assert!((found.quantile(share).expect("values") - wanted).abs() < 1e-12, "{share}")
        };
        near(1.0 / 6.0, 0.001 + 0.001 / 3.0);
        near(0.5, 0.002);
        near(4.0 / 6.0, 0.004);
        near(0.99, 0.004);
    }

    #[test]
    fn only_what_came_since_counts() {
        let now = Histogram::read(TEXT, "wal").expect("a histogram");
        assert_eq!(now.since(&now).expect("the same").quantile(0.5), None);
        let zero = Histogram { buckets: now.buckets.iter().map(|(bound, _)| (*bound, 0.0)).collect() };
        assert_eq!(now.since(&zero), Some(now.clone()));
        // A server that was started anew began again.
        assert_eq!(zero.since(&now), None);
    }

    #[test]
    fn what_is_no_histogram_is_none() {
        for text in [
            "",
            "wal_bucket{le=\"1\"} 3\n",
            "wal_bucket{le=\"1\"} 3\nwal_bucket{le=\"+Inf\"} 2\n",
            "wal_bucket{le=\"x\"} 3\n",
        ] {
            assert_eq!(Histogram::read(text, "wal"), None, "{text}");
        }
    }
}
