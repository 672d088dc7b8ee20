export interface Layer {
  name: string;
  /** Files of the layer; the first match in the list decides. */
  files: RegExp;
  /** Layers of the same room it may import at run time besides itself; absent: all of them. */
  may?: readonly string[];
  /** Packages it may import besides `node:` and `bun`. */
  packages: readonly string[];
}

export const ZOD = ["zod", "@hono/zod-openapi"];
