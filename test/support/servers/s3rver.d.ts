/** What the test S3 server uses of the package, which has no types of its own. */
declare module "@20minutes/s3rver" {
  import type { S3Store } from "./s3-store.ts";

  interface Listing {
    EncodingType?: string;
    Contents: { Key: string }[];
  }
  interface Context {
    method: string;
    path: string;
    headers: Record<string, string | undefined>;
    query: Record<string, string | undefined>;
    state: { account?: unknown };
    status: number;
    type: string;
    body: string | { ListBucketResult?: Listing };
  }
  export default class S3rver {
    constructor(options: Record<string, unknown>);
    store: S3Store;
    context: { store: S3Store };
    middleware: ((ctx: Context, next: () => Promise<void>) => Promise<void>)[];
    on(event: "error", listener: (err: Error) => void): void;
    run(): Promise<{ port: number }>;
  }
}

declare module "@20minutes/s3rver/lib/models/account.js" {
  const account: {
    DUMMY_ACCOUNT: {
      createKeyPair(id: string, secret: string): void;
      revokeAccessKey(id: string): void;
    };
  };
  export default account;
}

declare module "@20minutes/s3rver/lib/models/error.js" {
  export default class S3Error extends Error {
    constructor(code: string, message: string);
  }
}

declare module "@20minutes/s3rver/lib/models/object.js" {
  export default class S3Object {
    constructor(bucket: string, key: string, content: unknown, metadata: Record<string, unknown>);
    key: string;
    metadata: Record<string, string>;
  }
}
