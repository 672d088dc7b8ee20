/** What a tool found. `error`: the rule is one of those that fail a build. */
export interface Finding {
  tool: "redocly" | "spectral" | "ajv";
  error: boolean;
  rule: string;
  message: string;
  at: string;
}
