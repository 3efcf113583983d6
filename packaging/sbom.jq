# A CycloneDX 1.5 bill of materials from `cargo metadata`: what is compiled into `surefoot` and `surefoot-pdf`, and what builds them.
# Checksums come from Cargo.lock ($lock); $time is the commit's.
def name_and_version: "\(.name)@\(.version)";

([$lock | scan("name = \"([^\"]+)\"\nversion = \"([^\"]+)\"\nsource = \"[^\"]+\"\nchecksum = \"([0-9a-f]{64})\"")
  | { key: "\(.[0])@\(.[1])", value: .[2] }] | from_entries) as $sums
| ([.packages[] | { key: .id, value: . }] | from_entries) as $packages
| ([.resolve.nodes[] | { key: .id, value: [.deps[] | select(any(.dep_kinds[]; .kind != "dev")) | .pkg] }] | from_entries) as $needs
| def grow: (. + [.[] | $needs[.][]] | unique) as $more | if ($more | length) == length then . else ($more | grow) end;
  ([.packages[] | select(.name == "surefoot" or .name == "surefoot-pdf") | .id] | grow) as $within
| ([.packages[] | select(.name == "surefoot")][0]) as $main
| {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      timestamp: ($time | todate),
      component: { type: "application", "bom-ref": ($main | name_and_version), name: $main.name, version: $main.version,
        licenses: [{ expression: $main.license }] }
    },
    components: [$within[] | $packages[.] | select(.id != $main.id) | . as $package
      | { type: (if .name == "surefoot-pdf" then "application" else "library" end), "bom-ref": name_and_version, name, version }
      + (if .source then { purl: "pkg:cargo/\(name_and_version)" } else {} end)
      # Older packages separate licences by a slash.
      + (if .license then { licenses: [{ expression: (.license | gsub(" */ *"; " OR ")) }] } else {} end)
      + ($sums[name_and_version] as $sum | if $sum then { hashes: [{ alg: "SHA-256", content: $sum }] } else {} end)]
      | sort_by(.["bom-ref"]),
    dependencies: ([$within[] as $id | { ref: ($packages[$id] | name_and_version),
      dependsOn: ([$needs[$id][] | $packages[.] | name_and_version] | unique) }] | sort_by(.ref))
  }
