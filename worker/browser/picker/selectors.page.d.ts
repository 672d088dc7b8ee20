/** Source text for a page; imported with `{ type: "text" }`. */
declare const source: string;
export default source;
