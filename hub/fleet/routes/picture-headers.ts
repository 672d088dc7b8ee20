/** Of a picture of a page: lists show it for every row, and it never changes. */
export const PICTURE_HEADERS = {
  "Cache-Control": "private, max-age=600",
  "Content-Security-Policy": "sandbox",
} as const;
