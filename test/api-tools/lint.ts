import { readFile } from "node:fs/promises";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectral from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { examplesThatDoNotFit } from "./examples.ts";
import type { Finding } from "./finding.ts";

async function redocly(source: string): Promise<Finding[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  return problems.map(({ severity, ruleId, message, location: [first] }) => ({
    tool: "redocly",
    error: severity === "error",
    rule: ruleId,
    message,
    at: first?.pointer ?? "",
  }));
}

async function spectralOf(source: string): Promise<Finding[]> {
  const linter = new spectral.Spectral();
  linter.setRuleset({ extends: [[rulesets.oas, "recommended"]] });
  const problems = await linter.run(source);
  return problems.map(({ severity, code, message, path }) => ({
    tool: "spectral",
    error: severity === 0,
    rule: String(code),
    message,
    at: `#/${path.map((part) => String(part).replaceAll("/", "~1")).join("/")}`,
  }));
}

const [file = ""] = process.argv.slice(2);
const source = await readFile(file, "utf8");
const found = [
  ...(await redocly(source)),
  ...(await spectralOf(source)),
  ...examplesThatDoNotFit(JSON.parse(source)),
];
console.log(JSON.stringify(found));
