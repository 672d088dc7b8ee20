import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A page that tries what desktops have, and a server that keeps the headers by which browsers tell what they are. */

export interface DesktopSite {
  url: string;
  media: { file: string; type: string }[];
  requests: {
    clear(): void;
    /** The identifying headers of the first request for each path, once all of them have come. */
    all(paths: string[]): Promise<Record<string, Record<string, string>>>;
  };
  close(): Promise<void>;
}

const IDENTIFIES = /^(user-agent|sec-ch-.*|accept-language)$/;
/** High-entropy hints are sent only to who asks for them. */
const ACCEPT_CH =
  "Sec-CH-UA-Full-Version-List, Sec-CH-UA-Platform-Version, Sec-CH-UA-Arch, Sec-CH-UA-Bitness, Sec-CH-UA-Model";

const MEDIA = [
  {
    file: "h264-aac.mp4",
    type: 'video/mp4; codecs="avc1.42E01E, mp4a.40.2"',
    codecs: ["-c:v", "libx264", "-profile:v", "baseline", "-c:a", "aac"],
  },
  {
    file: "vp9-opus.webm",
    type: 'video/webm; codecs="vp9, opus"',
    codecs: ["-c:v", "libvpx-vp9", "-c:a", "libopus"],
  },
  {
    file: "av1-opus.webm",
    type: 'video/webm; codecs="av01.0.00M.08, opus"',
    codecs: ["-c:v", "libaom-av1", "-cpu-used", "8", "-c:a", "libopus"],
  },
];

/** Half a second of a test picture with a tone. */
async function makeMedia(dir: string): Promise<void> {
  const source = [
    ...["-f", "lavfi", "-i", "testsrc=size=64x48:rate=10:duration=0.5"],
    ...["-f", "lavfi", "-i", "sine=duration=0.5"],
  ];
  for (const { file, codecs } of MEDIA) {
    const command = ["ffmpeg", "-v", "error", ...source, "-pix_fmt", "yuv420p", ...codecs];
    const made = Bun.spawnSync([...command, join(dir, file)], { timeout: 30_000 });
    if (!made.success) throw new Error(`ffmpeg: ${made.stderr.toString()}`);
  }
}

const workerScript = (name: string) => `
  const account = { ua: navigator.userAgent, brands: navigator.userAgentData?.brands };
  fetch("/${name}-fetch?" + encodeURIComponent(JSON.stringify(account)));
  self.onfetch = () => {};`;

const PAGE = `<!doctype html><meta charset="utf-8"><title>desktop</title><body>
<script>
  const canvasOf = (width, height) => Object.assign(document.createElement("canvas"), { width, height });

  /** A green triangle over the whole canvas; the middle pixel as it was drawn. */
  function drawTriangle(kind) {
    const gl = canvasOf(8, 8).getContext(kind);
    if (!gl) return null;
    const program = gl.createProgram();
    for (const [type, source] of [
      [gl.VERTEX_SHADER, "attribute vec2 at; void main() { gl_Position = vec4(at, 0.0, 1.0); }"],
      [gl.FRAGMENT_SHADER, "precision mediump float; void main() { gl_FragColor = vec4(0.0, 1.0, 0.0, 1.0); }"],
    ]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW);
    const at = gl.getAttribLocation(program, "at");
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, 2, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    const pixel = new Uint8Array(4);
    gl.readPixels(4, 4, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    return [...pixel];
  }

  /** The numbers doubled by a compute shader. */
  async function doubleOnGpu(numbers) {
    const adapter = await navigator.gpu?.requestAdapter();
    if (!adapter) return "no adapter";
    const device = await adapter.requestDevice();
    const bytes = numbers.length * 4;
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const data = device.createBuffer({ size: bytes, usage: STORAGE | COPY_SRC | COPY_DST });
    const out = device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST });
    device.queue.writeBuffer(data, 0, new Float32Array(numbers));
    const module = device.createShaderModule({ code: \`
      @group(0) @binding(0) var<storage, read_write> data: array<f32>;
      @compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { data[id.x] *= 2.0; }\` });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "main" } });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const entries = [{ binding: 0, resource: { buffer: data } }];
    pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    pass.dispatchWorkgroups(numbers.length);
    pass.end();
    encoder.copyBufferToBuffer(data, 0, out, 0, bytes);
    device.queue.submit([encoder.finish()]);
    await out.mapAsync(GPUMapMode.READ);
    return [...new Float32Array(out.getMappedRange())];
  }

  const support = (type) => document.createElement("video").canPlayType(type);

  /** Plays to the end with sound and picture decoded. */
  async function play(src) {
    const video = Object.assign(document.createElement("video"), { src });
    const ended = new Promise((resolve) => {
      video.onended = () => resolve("played");
      video.onerror = () => resolve(video.error.message);
    });
    document.body.append(video);
    await video.play().catch((error) => error.message);
    const how = await ended;
    if (how !== "played") return how;
    if (video.videoWidth !== 64) return "no picture";
    return video.webkitAudioDecodedByteCount > 0 ? "played" : "no sound";
  }

  function pixelsOf(text) {
    const canvas = canvasOf(60, 60);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.font = "40px sans-serif";
    context.textBaseline = "top";
    context.fillText(text, 5, 5);
    return context.getImageData(0, 0, 60, 60).data;
  }
  /** What stands for a character that no font has: this one is none. */
  const missing = () => pixelsOf("\\u{10ffff}").join();
  const hasGlyphs = (text) =>
    [...text].every((character) => /\\p{M}/u.test(character) || ![missing(), pixelsOf(" ").join()].includes(pixelsOf(character).join()));
  const isColoured = (text) => {
    const data = pixelsOf(text);
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 200 && Math.abs(data[i] - data[i + 1]) > 60) return true;
    return false;
  };

  async function accountOfItself() {
    const media = ["(hover: hover)", "(pointer: fine)", "(prefers-color-scheme: dark)", "(prefers-reduced-motion)"];
    const permissions = ["geolocation", "notifications", "camera", "clipboard-read"];
    const { userAgent, appVersion, platform, language, languages, webdriver, vendor, maxTouchPoints, pdfViewerEnabled, hardwareConcurrency } = navigator;
    return {
      userAgent, appVersion, platform, language, languages, webdriver, vendor, maxTouchPoints, pdfViewerEnabled, hardwareConcurrency,
      plugins: [...navigator.plugins].map(({ name }) => name),
      data: await navigator.userAgentData.getHighEntropyValues(["fullVersionList", "platformVersion", "architecture", "bitness", "model"]),
      screen: [screen.width, screen.height, screen.availWidth, screen.availHeight, screen.colorDepth, devicePixelRatio],
      window: [screenX, screenY, outerWidth, outerHeight, innerWidth, innerHeight],
      focus: [document.hasFocus(), document.visibilityState],
      media: media.filter((query) => matchMedia(query).matches),
      permissions: await Promise.all(permissions.map(async (name) => (await navigator.permissions.query({ name })).state)),
      globals: [typeof chrome, typeof Notification, typeof navigator.share, typeof navigator.gpu],
      fonts: ["Arial", "Times New Roman", "Courier New"].filter((name) => document.fonts.check("12px '" + name + "'")),
    };
  }

  function openEverything() {
    new Worker("/worker.js");
    new SharedWorker("/shared-worker.js");
    void navigator.serviceWorker.register("/service-worker.js");
    void fetch("/fetch");
    document.body.append(Object.assign(document.createElement("iframe"), { src: "/frame" }));
    open("/popup");
  }
</script>`;

const html = (body: string) =>
  new Response(body, { headers: { "Content-Type": "text/html", "Accept-CH": ACCEPT_CH } });

export async function startDesktopSite(): Promise<DesktopSite> {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-media-"));
  await makeMedia(dir);
  const seen = new Map<string, Record<string, string>>();
  let arrived = Promise.withResolvers<void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const { pathname, search } = new URL(request.url);
      const headers = [...request.headers].filter(([name]) => IDENTIFIES.test(name)).sort();
      // What the sender says of itself belongs to its account.
      const account: Record<string, string> =
        search === "" ? {} : { account: decodeURIComponent(search.slice(1)) };
      if (!seen.has(pathname)) seen.set(pathname, { ...Object.fromEntries(headers), ...account });
      arrived.resolve();
      arrived = Promise.withResolvers();
      if (pathname.startsWith("/media/"))
        return new Response(Bun.file(join(dir, pathname.slice(7))));
      const script = /^\/(.+)\.js$/.exec(pathname)?.[1];
      if (script !== undefined)
        return new Response(workerScript(script), {
          headers: { "Content-Type": "text/javascript" },
        });
      if (pathname === "/popup") return html(`<script>fetch("/popup-fetch")</script>`);
      return html(pathname === "/" ? PAGE : "ok");
    },
  });
  return {
    url: server.url.href,
    media: MEDIA.map(({ file, type }) => ({ file, type })),
    requests: {
      clear: () => seen.clear(),
      all: async (paths) => {
        while (!paths.every((path) => seen.has(path))) await arrived.promise;
        return Object.fromEntries(paths.map((path) => [path, seen.get(path) ?? {}]));
      },
    },
    close: async () => {
      await server.stop(true);
      await rm(dir, { recursive: true, force: true });
    },
  };
}
