declare module "better-sqlite3/linux-x64" {
  import Client from "better-sqlite3";
  export default Client;
}
declare module "better-sqlite3/linux-arm64" {
  import Client from "better-sqlite3";
  export default Client;
}
declare module "better-sqlite3/darwin-arm64" {
  import Client from "better-sqlite3";
  export default Client;
}
declare module "better-sqlite3/darwin-x64" {
  import Client from "better-sqlite3";
  export default Client;
}
