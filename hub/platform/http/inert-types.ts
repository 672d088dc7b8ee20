/**
 * Types that a browser shows without running any of their content on this origin: pictures made of pixels, sound,
 * video, fonts, plain text, and PDF, whose viewer has its own origin. A list of dangerous types would never be
 * complete: Chromium alone runs scripts of HTML, XHTML, SVG, MHTML and any XML with a stylesheet. A subtype with `+` is
 * left out, because `audio/x+xml` is XML.
 */
const INERT =
  /^(image\/(apng|avif|bmp|gif|heic|heif|jp2|jpeg|jpg|jxl|pjpeg|png|tiff|vnd\.microsoft\.icon|webp|x-icon|x-ms-bmp|x-png)|(audio|video|font)\/(?!.*xml)[a-z0-9.-]+|application\/(font-woff2?|ogg|pdf|x-font-(otf|ttf|woff)|vnd\.ms-fontobject)|text\/plain)$/;

/** Whether a body of this type may be shown on the hub's origin as it is. */
export const isInert = (mime: string): boolean =>
  INERT.test((mime.split(";", 1)[0] ?? "").trim().toLowerCase());
