import { createRequire, isBuiltin } from "node:module";
import { isCompiled } from "#shared/protocol/version.ts";

/**
 * npm packages are not part of the sources (rules/updates#what-is-propagated): an updated version uses the ones of the
 * program it runs in. Those in the compiled binary must be named here, one by one.
 */
const PACKAGES: Record<string, () => Promise<object>> = {
  "@hono/zod-openapi": () => import("@hono/zod-openapi"),
  "@joplin/turndown-plugin-gfm/lib/turndown-plugin-gfm.cjs.js": () =>
    import("@joplin/turndown-plugin-gfm/lib/turndown-plugin-gfm.cjs.js", {
      with: { type: "text" },
    }),
  mime: () => import("mime"),
  nanoid: () => import("nanoid"),
  "playwright-core": () => import("playwright-core"),
  "tar-stream": () => import("tar-stream"),
  "turndown/dist/turndown.js": () =>
    import("turndown/dist/turndown.js", { with: { type: "text" } }),
  zod: () => import("zod"),
};

const require = createRequire(import.meta.url);

/** Whether this program has the module an updated version wants to import. */
export function hasPackage(specifier: string): boolean {
  if (isBuiltin(specifier) || /^bun(:|$)/.test(specifier)) return true;
  if (isCompiled()) return specifier in PACKAGES;
  try {
    require.resolve(specifier);
    return true;
  } catch {
    return false;
  }
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** `#worker/start.ts`: the alias of a top directory. */
const ALIAS = /^#[a-z]+\//;

/**
 * Lets modules below `root` import as those of the program do: `#worker/…` from their own tree, packages from this
 * program. Nothing changes for modules elsewhere.
 */
export function offerPackages(root: string): void {
  const inside = new RegExp(`^${escaped(root)}/`);
  Bun.plugin({
    name: "flotilla-update",
    setup: (build) => {
      build.onResolve({ filter: ALIAS }, ({ path, importer }) =>
        inside.test(importer) ? { path: `${root}/${path.slice(1)}` } : undefined,
      );
      if (isCompiled())
        for (const [name, load] of Object.entries(PACKAGES))
          build.module(name, async () => ({ exports: { ...(await load()) }, loader: "object" }));
      else
        build.onResolve({ filter: /^[@a-z]/ }, ({ path, importer }) =>
          inside.test(importer) && !isBuiltin(path) && !/^bun(:|$)/.test(path)
            ? { path: require.resolve(path) }
            : undefined,
        );
    },
  });
}
