"""Makes the schemas beside it again: `python3 schemas.py kubernetes_validate-1.37.0-py3-none-any.whl`.

They are Kubernetes' own descriptions of its API (Apache-2.0, The Kubernetes Authors), as the package kubernetes-validate of PyPI
(Apache-2.0) has them in JSON Schema's words, where no field but the known ones is allowed. Kept is what is refused and what is not:
without sentences, and of the kinds that a member's manifest has; what else a field may hold is `false`, nothing.
"""

import json
import pathlib
import sys
import zipfile

VERSIONS = ["1.29.0", "1.37.0"]
API = "io.k8s.api."
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
KEPT = (
    [API + "batch.v1." + kind for kind in (
        "Job", "JobSpec", "PodFailurePolicy", "PodFailurePolicyRule", "PodFailurePolicyOnExitCodesRequirement",
        "PodFailurePolicyOnPodConditionsPattern")]
    + [API + "core.v1." + kind for kind in (
        "ConfigMap", "PodTemplateSpec", "PodSpec", "Affinity", "PodAntiAffinity", "PodAffinityTerm", "Toleration", "Container",
        "EnvVar", "EnvVarSource", "ObjectFieldSelector", "SecurityContext", "Volume", "VolumeMount", "HostPathVolumeSource",
        "PersistentVolumeClaimVolumeSource", "ConfigMapVolumeSource")]
    + [META + kind for kind in ("ObjectMeta", "LabelSelector")]
)


def bare(schema):
    """Without sentences; what is not kept is nothing."""
    if isinstance(schema, list):
        return [bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return {"$ref": "#/$defs/" + name} if name in KEPT else False
    is_sentence = lambda key, value: key == "description" and isinstance(value, str)
    return {key: bare(value) for key, value in schema.items() if not is_sentence(key, value) and not key.startswith("x-")}


wheel = zipfile.ZipFile(sys.argv[1])
for version in VERSIONS:
    path = f"kubernetes_validate/kubernetes-json-schema/v{version}-local-strict/_definitions.json"
    document = json.loads(wheel.read(path))
    definitions = document.get("$defs") or document["definitions"]
    kept = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"Kubernetes {version}, Apache-2.0; made by schemas.py",
        "oneOf": [{"$ref": f"#/$defs/{API}batch.v1.Job"}, {"$ref": f"#/$defs/{API}core.v1.ConfigMap"}],
        "required": ["apiVersion", "kind", "metadata"],
        "$defs": {name: bare(definitions[name]) for name in sorted(KEPT)},
    }
    file = pathlib.Path(__file__).with_name("schema-" + version.rsplit(".", 1)[0] + ".json")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in kept["$defs"].items())
    del kept["$defs"]
    file.write_text(json.dumps(kept)[:-1] + ', "$defs": {\n' + lines + "\n}}\n")
