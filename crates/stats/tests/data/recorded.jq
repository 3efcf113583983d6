# The lines of recorded.csv: surefoot report FILE.surefoot --json | jq -rf recorded.jq | sort -s -t, -k1,1
# Scenarios under different conditions of the load do not compete: each combination is a study of its own.
.analysis | .study as $study | .workloads[] | .workload as $workload | .conditions as $conditions | .scenarios
| map(select((.control | not) and .geometric_mean)) | sort_by(.baseline | not)[]
| (if $conditions then [$study, $workload, (.scenario | split(" · ")[-1])] | join(" ") else $study end) as $name
| [$name, .scenario | gsub(","; "")] + [.geometric_mean, .low, .high, ([.values[] | select(.)] | length)]
| map(tostring) | join(",")
