import { join } from "node:path";
import type { BunPlugin } from "bun";

/** One file of the app. */
interface AppFile {
  /** Holds a hash of the content. */
  name: string;
  mime: string;
  gzip: Uint8Array<ArrayBuffer>;
  size: number;
}

/** The app in the browser: `entry` and `styles` are names of files. */
export interface AppBundle {
  entry: string;
  styles: string[];
  /** Typefaces that every page shows text in: named by the page, they are there when the text is drawn. */
  fonts: string[];
  /** Files that the entry imports at once: because the page names them, they load in parallel with it. */
  preload: string[];
  /** A page's address pattern and the further files that it needs. */
  pages: { path: string; files: string[] }[];
  files: AppFile[];
}

const MIMES: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};
const mimeOf = (name: string): string =>
  MIMES[/\.[a-z0-9]+$/.exec(name)?.[0] ?? ""] ?? "application/octet-stream";

const base = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

const FIRST_FONT = "inter-latin-";

/** Static imports of a file that Bun wrote. */
const STATIC_IMPORT = /(?:^|[;}\n])import\s*(?:[^"'();]*?\bfrom\s*)?["'](\.\/[^"']+)["']/g;

/** An entry of client/pages.tsx as Bun has written it. */
const PAGE_ENTRY = /\bpath:"(\/ui\/[^"]+)"[\s\S]*?\bimport\(["'](\.\/[^"']+)["']\)/g;

/** Typefaces stay files of their own, where Bun would write them into the styles, which come before anything is drawn. */
function typefaces(fonts: AppFile[]): BunPlugin {
  return {
    name: "typefaces",
    setup: ({ onResolve }) => {
      onResolve({ filter: /\.woff2$/ }, async ({ path, resolveDir }) => {
        const bytes = await Bun.file(Bun.resolveSync(path, resolveDir)).bytes();
        const name = base(path).replace(
          /\.woff2$/,
          `-${Bun.hash(bytes).toString(36).slice(0, 8)}.woff2`,
        );
        fonts.push({ name, mime: mimeOf(name), gzip: Bun.gzipSync(bytes), size: bytes.length });
        return { path: `./${name}`, external: true };
      });
    },
  };
}

/** Bundles the app; pages that are imported when they are opened become files of their own. Needs the sources. */
export async function bundleApp(): Promise<AppBundle> {
  const fonts: AppFile[] = [];
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "client/main.tsx")],
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    naming: {
      entry: "[name]-[hash].[ext]",
      chunk: "[name]-[hash].[ext]",
      asset: "[name]-[hash].[ext]",
    },
    plugins: [typefaces(fonts)],
    define: { "process.env.NODE_ENV": '"production"' },
  });
  if (!built.success) throw new AggregateError(built.logs, "the UI was not built");
  const texts = new Map<string, string>();
  const files = await Promise.all(
    built.outputs.map(async (output): Promise<AppFile> => {
      const bytes = new Uint8Array(await output.arrayBuffer());
      const name = base(output.path);
      if (name.endsWith(".js")) texts.set(name, new TextDecoder().decode(bytes));
      return {
        name,
        mime: mimeOf(name),
        gzip: Bun.gzipSync(bytes, { level: 9 }),
        size: bytes.length,
      };
    }),
  );
  const entry = base(built.outputs.find(({ kind }) => kind === "entry-point")?.path ?? "");
  const textOf = (name: string): string => texts.get(name) ?? "";
  /** Adds what a file imports, and what that imports. */
  const follow = (name: string, seen: Set<string>): void => {
    for (const [, path = ""] of textOf(name).matchAll(STATIC_IMPORT)) {
      const imported = base(path);
      if (seen.has(imported)) continue;
      seen.add(imported);
      follow(imported, seen);
    }
  };
  const first = new Set([entry]);
  follow(entry, first);
  const pages = [...textOf(entry).matchAll(PAGE_ENTRY)].map(([, path = "", file = ""]) => {
    const needed = new Set([...first, base(file)]);
    follow(base(file), needed);
    return { path, files: [...needed].filter((name) => !first.has(name)) };
  });
  const preload = [...first].filter((name) => name !== entry);
  const styles = files.filter(({ name }) => name.startsWith("main-") && name.endsWith(".css"));
  return {
    entry,
    styles: styles.map(({ name }) => name),
    fonts: fonts.map(({ name }) => name).filter((name) => name.startsWith(FIRST_FONT)),
    preload,
    pages,
    files: [...files, ...fonts],
  };
}

interface PackedFile extends Omit<AppFile, "gzip"> {
  length: number;
}

/** One file for the binary: the length of a JSON index as four bytes, the index, and the bodies one after the other. */
export function packApp({ files, ...rest }: AppBundle): Uint8Array<ArrayBuffer> {
  const listed = files.map(({ gzip, ...file }): PackedFile => ({ ...file, length: gzip.length }));
  const index = new TextEncoder().encode(JSON.stringify({ ...rest, files: listed }));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, index.length);
  return new Uint8Array(Buffer.concat([length, index, ...files.map(({ gzip }) => gzip)]));
}

export function unpackApp(packed: Uint8Array<ArrayBuffer>): AppBundle {
  const length = new DataView(packed.buffer, packed.byteOffset).getUint32(0);
  const { files, ...rest } = JSON.parse(
    new TextDecoder().decode(packed.subarray(4, 4 + length)),
  ) as Omit<AppBundle, "files"> & { files: PackedFile[] };
  let at = 4 + length;
  const unpacked = files.map(({ length: bytes, ...file }): AppFile => {
    at += bytes;
    return { ...file, gzip: packed.subarray(at - bytes, at) };
  });
  return { ...rest, files: unpacked };
}
