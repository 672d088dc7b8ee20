/** What schemas of the API use, which the app reads as types and when it is bundled (`forms/rules-macro.ts`). */
declare module "node:crypto" {
  export class X509Certificate {
    constructor(pem: string);
    readonly ca: boolean;
  }
}
