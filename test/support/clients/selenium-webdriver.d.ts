/** What the types of `selenium-webdriver` leave out. */
declare module "selenium-webdriver/remote/index.js" {
  import { FileDetector as AnyFileDetector } from "selenium-webdriver";

  /** Sends the file that is typed to the server first. */
  export class FileDetector extends AnyFileDetector {}
}
