/** `.sql` files are imported as text, see migrations.gen.ts. */
declare module "*.sql" {
  const text: string;
  export default text;
}
