/** Units as text; imported with `{ type: "text" }`. */
declare module "*.service" {
  const text: string;
  export default text;
}

/** Rules of Prometheus, imported in the same way. */
declare module "*.yml" {
  const text: string;
  export default text;
}
