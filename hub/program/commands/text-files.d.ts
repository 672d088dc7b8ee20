/** Units as text; imported with `{ type: "text" }`. */
declare module "*.service" {
  const text: string;
  export default text;
}
