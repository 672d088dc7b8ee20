/** Files of the example plugins as text; imported with `{ type: "text" }`. */
declare module "*.sh" {
  const text: string;
  export default text;
}
