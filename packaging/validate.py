"""Holds a bill of materials against CycloneDX's JSON schema: `make package-check`."""
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

for path in sys.argv[1:]:
    problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(path, encoding="utf-8").read())
    sys.exit(f"{path}: {problem}") if problem else print(f"{path}: valid CycloneDX 1.5")
