/** A file that scripts/build.ts has put into the running binary under `name`; Bun adds a hash before its extension. */
export function embeddedFile(name: string): Blob | undefined {
  const dot = name.lastIndexOf(".");
  const [stem, extension] = [name.slice(0, dot), name.slice(dot)].map((part) =>
    part.replaceAll(".", "\\."),
  );
  const wanted = new RegExp(`(^|/)${stem}(-[a-z0-9]+)?${extension}$`);
  // Bun types it as Blob, but it has a name.
  const embedded = Bun.embeddedFiles as readonly (Blob & { name: string })[];
  return embedded.find((file) => wanted.test(file.name));
}
