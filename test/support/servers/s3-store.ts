import { createHash, randomUUID } from "node:crypto";
import {
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { open, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import S3Error from "@20minutes/s3rver/lib/models/error.js";
import S3Object from "@20minutes/s3rver/lib/models/object.js";

/** All parts but the last must have this size at least, as on S3. */
const MIN_PART_BYTES = 5 * 1024 * 1024;

interface Body {
  file: string;
  size: number;
  md5: string;
}
interface Stored extends Body {
  key: string;
  etag: string;
  modified: string;
  metadata: Record<string, string>;
  /** The checksum that the body came with. */
  checksum?: string | undefined;
}
interface OpenUpload {
  id: string;
  key: string;
  metadata: Record<string, string>;
  parts: Map<number, Body>;
  started: string;
}
type Metadata = Record<string, string | undefined>;
interface ListOptions {
  prefix?: string;
  startAfter?: string;
  delimiter?: string;
  maxKeys?: number;
}

const kept = (metadata: Metadata): Record<string, string> =>
  Object.fromEntries(
    Object.entries(metadata).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined &&
        (entry[0].startsWith("x-amz-meta-") || entry[0] === "content-type"),
    ),
  );

/**
 * What the server keeps, with the promises of S3 that s3rver's own store does not make: an object appears whole or not at
 * all, also when the server is killed; a body must match the hashes its request names; uploads in parts can be ended and
 * listed, and are checked when they are completed. Bodies are files, what is known of them is one small file each,
 * written last and renamed into place.
 */
export class S3Store {
  private readonly objects = new Map<string, Stored>();
  private readonly uploads = new Map<string, OpenUpload>();
  private readonly dir: string;
  private readonly bucket: string;
  /** Bytes of bodies taken so far; tells a test that one is on its way. */
  received = 0;

  constructor(dir: string, bucket: string) {
    this.dir = dir;
    this.bucket = bucket;
    for (const part of ["bodies", "objects", "uploads"])
      mkdirSync(join(dir, part), { recursive: true });
    const read = (part: string) =>
      readdirSync(join(dir, part))
        .filter((name) => name.endsWith(".json"))
        .map((name) => JSON.parse(readFileSync(join(dir, part, name), "utf8")));
    for (const stored of read("objects") as Stored[]) this.objects.set(stored.key, stored);
    for (const { parts, ...upload } of read("uploads"))
      this.uploads.set(upload.id, { ...upload, parts: new Map(parts) });
    this.sweep();
  }

  /** Bodies of requests that a kill cut off. */
  private sweep(): void {
    const named = new Set(
      [
        ...this.objects.values(),
        ...[...this.uploads.values()].flatMap((upload) => [...upload.parts.values()]),
      ].map((body) => body.file),
    );
    for (const name of readdirSync(join(this.dir, "bodies")))
      if (!named.has(name)) rmSync(this.path(name));
  }

  get keys(): string[] {
    return [...this.objects.keys()];
  }

  private path(file: string): string {
    return join(this.dir, "bodies", file);
  }

  private record(part: string, name: string, content: unknown): void {
    const file = join(this.dir, part, `${createHash("sha1").update(name).digest("hex")}.json`);
    if (content === null) {
      rmSync(file, { force: true });
      return;
    }
    writeFileSync(`${file}.new`, JSON.stringify(content));
    renameSync(`${file}.new`, file);
  }

  private async take(request: IncomingMessage): Promise<Body> {
    const file = randomUUID();
    const handle = await open(this.path(file), "wx");
    const md5 = createHash("md5");
    const sha256 = createHash("sha256");
    let size = 0;
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        md5.update(chunk);
        sha256.update(chunk);
        size += chunk.length;
        this.received += chunk.length;
        await handle.write(chunk);
      }
      const said = request.headers;
      if (said["content-length"] === undefined)
        throw new S3Error("MissingContentLength", "You must provide the Content-Length header.");
      if (Number(said["content-length"] ?? size) !== size)
        throw new S3Error("IncompleteBody", "The body is shorter than its Content-Length");
      const sums = {
        "content-md5": md5.copy().digest("base64"),
        "x-amz-checksum-sha256": sha256.copy().digest("base64"),
        "x-amz-content-sha256": sha256.copy().digest("hex"),
      };
      for (const [name, sum] of Object.entries(sums)) {
        const claim = said[name];
        if (claim !== undefined && claim !== "UNSIGNED-PAYLOAD" && claim !== sum)
          throw new S3Error(
            "BadDigest",
            `The ${name} you specified did not match what we received`,
          );
      }
      return { file, size, md5: md5.digest("hex") };
    } catch (err) {
      await rm(this.path(file), { force: true });
      throw err;
    } finally {
      await handle.close();
    }
  }

  private place(stored: Stored): void {
    const before = this.objects.get(stored.key);
    this.record("objects", stored.key, stored);
    this.objects.set(stored.key, stored);
    // A reader that has opened it keeps it.
    if (before) rmSync(this.path(before.file), { force: true });
  }

  async getBucket(name: string) {
    return name === this.bucket ? { name, creationDate: new Date(0) } : null;
  }
  async listBuckets() {
    return [{ name: this.bucket, creationDate: new Date(0) }];
  }
  async putBucket(name: string) {
    return this.getBucket(name);
  }
  async getSubresource() {
    return null;
  }

  async listObjects(
    bucket: string,
    { prefix = "", startAfter = "", maxKeys = 1_000 }: ListOptions,
  ) {
    const order = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
    const found = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && (startAfter === "" || order(key, startAfter) > 0))
      .sort(order);
    return {
      objects: found.slice(0, maxKeys).map((key) => this.describe(bucket, key, null)),
      commonPrefixes: [],
      isTruncated: found.length > maxKeys,
    };
  }

  private describe(bucket: string, key: string, content: unknown) {
    const stored = this.objects.get(key);
    if (!stored) throw new S3Error("NoSuchKey", "The specified key does not exist.");
    const object = new S3Object(bucket, key, content, {
      ...stored.metadata,
      etag: `"${stored.etag}"`,
      "last-modified": stored.modified,
      "content-length": stored.size,
    });
    if (stored.checksum) object.metadata["x-amz-checksum-sha256"] = stored.checksum;
    return object;
  }

  /** @throws PreconditionFailed unless the object has this ETag. */
  demandEtag(key: string, etag: string): void {
    const stored = this.objects.get(key);
    if (stored && `"${stored.etag}"` !== etag)
      throw new S3Error("PreconditionFailed", "At least one of the pre-conditions did not hold");
  }

  async copyObject(_from_bucket: string, from: string, bucket: string, key: string) {
    const stored = this.objects.get(from);
    if (!stored) throw new S3Error("NoSuchKey", "The specified key does not exist.");
    const file = randomUUID();
    copyFileSync(this.path(stored.file), this.path(file));
    this.place({ ...stored, file, key, modified: new Date().toUTCString() });
    return this.describe(bucket, key, null).metadata;
  }

  async existsObject(_bucket: string, key: string) {
    return this.objects.has(key);
  }

  async getObject(bucket: string, key: string, options?: { start?: number; end?: number }) {
    const stored = this.objects.get(key);
    if (!stored) return null;
    const asked = options?.start !== undefined || options?.end !== undefined;
    const start = options?.start ?? 0;
    const end = Math.min(options?.end ?? Number.POSITIVE_INFINITY, stored.size - 1);
    const range = asked ? { start, end } : null;
    if (range && start > end) return Object.assign(this.describe(bucket, key, null), { range });
    const content = createReadStream(this.path(stored.file), range ?? {});
    await new Promise<void>((resolve, reject) => {
      content.on("open", () => resolve()).on("error", reject);
    });
    return Object.assign(this.describe(bucket, key, content), range && { range });
  }

  async putObject(object: { key: string; content: IncomingMessage; metadata: Metadata }) {
    const body = await this.take(object.content);
    const modified = new Date().toUTCString();
    const metadata = kept(object.metadata);
    const checksum = object.content.headers["x-amz-checksum-sha256"]?.toString();
    this.place({ ...body, key: object.key, etag: body.md5, modified, metadata, checksum });
    return { size: body.size, md5: body.md5 };
  }

  async deleteObject(_bucket: string, key: string) {
    const stored = this.objects.get(String(key));
    if (!stored) return;
    this.objects.delete(stored.key);
    this.record("objects", stored.key, null);
    rmSync(this.path(stored.file), { force: true });
  }

  async initiateUpload(_bucket: string, key: string, id: string, metadata: Metadata) {
    const started = new Date().toISOString();
    this.save({ id, key, metadata: kept(metadata), parts: new Map(), started });
  }

  private save(upload: OpenUpload): void {
    this.uploads.set(upload.id, upload);
    this.record("uploads", upload.id, { ...upload, parts: [...upload.parts] });
  }

  private upload(id: string): OpenUpload {
    const upload = this.uploads.get(id);
    if (upload) return upload;
    throw new S3Error("NoSuchUpload", "The specified multipart upload does not exist.");
  }

  async putPart(_bucket: string, id: string, number: string, content: IncomingMessage) {
    this.upload(id);
    const body = await this.take(content);
    const upload = this.upload(id);
    const before = upload.parts.get(Number(number));
    upload.parts.set(Number(number), body);
    this.save(upload);
    if (before) rmSync(this.path(before.file), { force: true });
    return { size: body.size, md5: body.md5 };
  }

  async putObjectMultipart(
    _bucket: string,
    id: string,
    listed: { number: number; etag: string }[],
  ) {
    const upload = this.upload(id);
    const parts = listed.map(({ number, etag }, i) => {
      const part = upload.parts.get(number);
      if (!part || part.md5 !== etag)
        throw new S3Error("InvalidPart", "One or more of the specified parts could not be found.");
      if (part.size < MIN_PART_BYTES && i < listed.length - 1)
        throw new S3Error("EntityTooSmall", "Your upload is smaller than the minimum allowed size");
      return part;
    });
    const file = randomUUID();
    const whole = await open(this.path(file), "wx");
    for (const part of parts)
      for await (const chunk of createReadStream(this.path(part.file))) await whole.write(chunk);
    await whole.close();
    const sums = Buffer.concat(parts.map((part) => Buffer.from(part.md5, "hex")));
    const md5 = createHash("md5").update(sums).digest("hex");
    const etag = `${md5}-${parts.length}`;
    const size = parts.reduce((sum, part) => sum + part.size, 0);
    const modified = new Date().toUTCString();
    this.place({ file, size, md5, key: upload.key, etag, modified, metadata: upload.metadata });
    this.abortUpload(id);
    return { size, md5: etag };
  }

  /** DELETE ?uploadId, and what remains to be done after a completion. */
  abortUpload(id: string): void {
    const { parts } = this.upload(id);
    this.uploads.delete(id);
    this.record("uploads", id, null);
    for (const part of parts.values()) rmSync(this.path(part.file), { force: true });
  }

  /** GET ?uploads: those that are neither completed nor aborted. */
  openUploads(prefix: string): { key: string; id: string; started: string }[] {
    return [...this.uploads.values()]
      .filter(({ key }) => key.startsWith(prefix))
      .map(({ key, id, started }) => ({ key, id, started }));
  }

  /** Whether every body in the directory belongs to an object or an open upload. */
  isTidy(): boolean {
    const parts = [...this.uploads.values()].flatMap((upload) => [...upload.parts.values()]);
    const named = [...this.objects.values(), ...parts].map((body) => body.file);
    const files = readdirSync(join(this.dir, "bodies"));
    return files.length === named.length && named.every((file) => existsSync(this.path(file)));
  }
}
