/*
 * A viewer made of libvncclient, as other programs embed it. It connects to 127.0.0.1 at the port that it is given, and prints
 * "size WIDTH HEIGHT", then "pixel R G B" whenever the pixel that it watches changes. Its input has a line each of
 * "watch X Y", "click X Y" and "key KEYSYM"; the end of the input ends it.
 */
#include <poll.h>
#include <rfb/rfbclient.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int watched_x, watched_y, shown = -1;

static void show_pixel(rfbClient *client, int x, int y, int width, int height) {
  const unsigned char *pixel = client->frameBuffer + 4 * (watched_y * client->width + watched_x);
  const int now = pixel[0] << 16 | pixel[1] << 8 | pixel[2];
  if (now == shown) return;
  shown = now;
  printf("pixel %d %d %d\n", pixel[0], pixel[1], pixel[2]);
}

static void obey(rfbClient *client, const char *line) {
  int a, b;
  if (sscanf(line, "watch %d %d", &a, &b) == 2 && a < client->width && b < client->height) {
    watched_x = a;
    watched_y = b;
    shown = -1;
    show_pixel(client, 0, 0, 0, 0);
  } else if (sscanf(line, "click %d %d", &a, &b) == 2) {
    SendPointerEvent(client, a, b, 0);
    SendPointerEvent(client, a, b, rfbButton1Mask);
    SendPointerEvent(client, a, b, 0);
  } else if (sscanf(line, "key %d", &a) == 1) {
    SendKeyEvent(client, a, TRUE);
    SendKeyEvent(client, a, FALSE);
  }
}

int main(int argc, char **argv) {
  rfbClient *client = rfbGetClient(8, 3, 4);
  struct pollfd ready[2];
  char line[100];
  if (argc != 2) return 64;
  /* Lines that lie in a buffer of its own wake nobody. */
  setvbuf(stdin, NULL, _IONBF, 0);
  setvbuf(stdout, NULL, _IONBF, 0);
  client->GotFrameBufferUpdate = show_pixel;
  client->serverHost = strdup("127.0.0.1");
  client->serverPort = atoi(argv[1]);
  if (!rfbInitClient(client, NULL, NULL)) return 1;
  printf("size %d %d\n", client->width, client->height);
  ready[0].fd = client->sock;
  ready[1].fd = STDIN_FILENO;
  ready[0].events = ready[1].events = POLLIN;
  for (;;) {
    while (client->buffered > 0 || WaitForMessage(client, 0) > 0)
      if (!HandleRFBServerMessage(client)) return 2;
    if (poll(ready, 2, -1) < 0) return 3;
    if (ready[1].revents == 0) continue;
    if (fgets(line, sizeof line, stdin) == NULL) return 0;
    obey(client, line);
  }
}
