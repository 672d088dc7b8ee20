import crypto from "node:crypto";
import S3rver from "@20minutes/s3rver";
import account from "@20minutes/s3rver/lib/models/account.js";
import S3Error from "@20minutes/s3rver/lib/models/error.js";
import { S3Store } from "./s3-store.ts";

/** The server of `startS3` (s3.ts): `dir bucket port access_key_id secret_access_key`; prints its port when it listens. */
const [dir = "", bucket = "", port = "0", key_id = "", secret = ""] = process.argv.slice(2);

// s3rver hides the last key of a page with single DES, which OpenSSL has given up.
const plain = () => ({
  update: (text: string | Buffer) => Buffer.from(text),
  final: () => Buffer.alloc(0),
});
Object.assign(crypto, { createCipheriv: plain, createDecipheriv: plain });

const store = new S3Store(dir, bucket);
account.DUMMY_ACCOUNT.createKeyPair(key_id, secret);
account.DUMMY_ACCOUNT.revokeAccessKey("S3RVER");

const app = new S3rver({
  port: Number(port),
  address: "127.0.0.1",
  directory: dir,
  silent: true,
  vhostBuckets: false,
});
app.store = app.context.store = store;

const percent = (key: string) =>
  encodeURIComponent(key).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
const xml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
/** What GetBucketVersioning says; s3rver itself does not know it and lists the bucket. */
let versioning = "not known";
function versioningXml(): string {
  if (versioning === "denied") throw new S3Error("AccessDenied", "Access Denied");
  if (versioning === "not implemented") throw new S3Error("NotImplemented", "Not implemented");
  // As S3 writes it for a bucket that never had them.
  const status = versioning === "never" ? "" : `<Status>${versioning}</Status>`;
  return `<?xml version="1.0"?><VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${status}</VersioningConfiguration>`;
}
app.middleware.splice(2, 0, async (ctx, next) => {
  const { query, method } = ctx;
  if (ctx.path === "/.versioning") {
    versioning = query.is ?? "";
    ctx.body = "";
    return;
  }
  if (ctx.path === "/.state") {
    const uploads = store.openUploads("").map(({ key }) => key);
    const { received, keys } = store;
    ctx.body = JSON.stringify({ received, keys, uploads, tidy: store.isTidy() });
    return;
  }
  // s3rver serves everybody who does not sign.
  if (ctx.headers.authorization === undefined && query["X-Amz-Signature"] === undefined)
    throw new S3Error("AccessDenied", "Access Denied");
  const [source, if_match] = ["x-amz-copy-source", "x-amz-copy-source-if-match"].map(
    (name) => ctx.headers[name],
  );
  if (source && if_match)
    store.demandEtag(decodeURIComponent(source.split("/").slice(2).join("/")), if_match);
  try {
    await next();
    if (query.versioning !== undefined && versioning !== "not known") {
      ctx.type = "application/xml";
      ctx.body = versioningXml();
    }
    const listing = typeof ctx.body === "string" ? undefined : ctx.body?.ListBucketResult;
    // s3rver knows no encoding-type, and escapes what it lists twice.
    if (listing && query["encoding-type"] === "url") {
      listing.EncodingType = "url";
      for (const object of listing.Contents) object.Key = percent(object.Key);
    }
  } catch (err) {
    // s3rver refuses these two as not implemented, once the signature is checked.
    const signed = ctx.state.account !== undefined;
    if (signed && method === "DELETE" && query.uploadId !== undefined) {
      store.abortUpload(query.uploadId);
      ctx.status = 204;
    } else if (signed && method === "GET" && query.uploads !== undefined) {
      ctx.type = "application/xml";
      ctx.body = listUploads(query.prefix ?? "");
    } else throw err;
  }
});

function listUploads(prefix: string): string {
  const uploads = store
    .openUploads(prefix)
    .map(
      ({ key, id, started }) =>
        `<Upload><Key>${xml(key)}</Key><UploadId>${id}</UploadId><Initiated>${started}</Initiated></Upload>`,
    );
  const name = "ListMultipartUploadsResult";
  return `<?xml version="1.0"?><${name}><IsTruncated>false</IsTruncated>${uploads.join("")}</${name}>`;
}

// A client that goes away in the middle of a body is no reason to end.
app.on("error", () => {});
const listening = await app.run();
console.log(listening.port);
