CREATE TABLE "access_tokens" (
	"token_id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"hash" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint,
	"last_used_at" bigint
);
--> statement-breakpoint
CREATE TABLE "browser_sessions" (
	"hash" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"token_id" text,
	"proof" text,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "access_tokens_hash_idx" ON "access_tokens" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "browser_sessions_token_idx" ON "browser_sessions" USING btree ("token_id");--> statement-breakpoint
CREATE INDEX "browser_sessions_expires_idx" ON "browser_sessions" USING btree ("expires_at");