/** Source files that run inside the page; imported with `{ type: "text" }`. */
declare module "turndown/dist/turndown.js" {
  const source: string;
  export default source;
}
declare module "@joplin/turndown-plugin-gfm/lib/turndown-plugin-gfm.cjs.js" {
  const source: string;
  export default source;
}
