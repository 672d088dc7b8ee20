import { Contrib, Enums, Models, Serialize, Spec, Validation } from "@cyclonedx/cyclonedx-library";
import parseExpression from "spdx-expression-parse";
import type { LockedPackage } from "./locked-packages.ts";

/** What a release is made of, in CycloneDX 1.6: each package with its version, licence and the hash of its archive. */

const SPEC = Spec.Spec1dot6;
const { Component } = Models;
const licenses = new Contrib.License.Factories.LicenseFactory((text) => void parseExpression(text));

export interface SbomOf {
  /** What the release is called. */
  name: string;
  /** Hash of its sources. */
  version: string;
  released_at: string;
  bun: string;
  packages: readonly LockedPackage[];
}

const purlOf = (name: string, version: string): string =>
  `pkg:npm/${name.split("/").map(encodeURIComponent).join("/")}@${encodeURIComponent(version)}`;

function library({ name, version, key, license, integrity }: LockedPackage): Models.Component {
  const [group, short] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const made = new Component(Enums.ComponentType.Library, short ?? name, {
    bomRef: key,
    version,
    purl: purlOf(name, version),
    scope: Enums.ComponentScope.Required,
  });
  if (group !== undefined) made.group = group;
  if (license !== null) made.licenses.add(licenses.makeFromString(license));
  const [, base64] = /^sha512-(.+)$/.exec(integrity) ?? [];
  if (base64 !== undefined)
    made.hashes.set(Enums.HashAlgorithm["SHA-512"], Buffer.from(base64, "base64").toString("hex"));
  return made;
}

/** The document as JSON. @throws Error when it is not what the schema of CycloneDX demands */
export async function writeSbom({ name, version, released_at, bun, packages }: SbomOf) {
  const program = new Component(Enums.ComponentType.Application, "flotilla", {
    bomRef: "flotilla",
    version: name,
  });
  program.licenses.add(new Models.SpdxLicense("MIT"));
  program.properties.add(new Models.Property("flotilla:sources", version));
  const runtime = new Component(Enums.ComponentType.Platform, "bun", {
    bomRef: "bun-runtime",
    version: bun,
    purl: purlOf("bun", bun),
  });
  runtime.licenses.add(new Models.SpdxLicense("MIT"));
  const libraries = new Map(packages.map((each) => [each.key, library(each)]));
  program.dependencies.add(runtime.bomRef);
  for (const { key, needs, direct } of packages) {
    const one = libraries.get(key) as Models.Component;
    if (direct) program.dependencies.add(one.bomRef);
    for (const other of needs) {
      const found = libraries.get(other);
      if (found) one.dependencies.add(found.bomRef);
    }
  }
  const bom = new Models.Bom();
  bom.metadata.component = program;
  bom.metadata.timestamp = new Date(released_at);
  bom.metadata.lifecycles.add(Enums.LifecyclePhase.Build);
  for (const one of [runtime, ...libraries.values()]) bom.components.add(one);
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(SPEC));
  const text = serializer.serialize(bom, { sortLists: true, space: 1 });
  await demandValid(text);
  return `${text}\n`;
}

/** @throws Error naming what the schema refuses */
export async function demandValid(text: string): Promise<void> {
  const refused = await new Validation.JsonStrictValidator(SPEC.version).validate(text);
  if (refused !== null) throw new Error(`the SBOM is not valid: ${JSON.stringify(refused)}`);
}
