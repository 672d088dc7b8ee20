/** What a header may be called (RFC 9110), for those that a caller gives to a browser. */
export const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/;

/** They belong to a connection, not to a page: the browser and the proxies on the way set them. */
export const OF_CONNECTIONS =
  /^(host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|proxy-.*)$/i;
