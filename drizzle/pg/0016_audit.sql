CREATE TABLE "audit" (
	"audit_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_audit_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" bigint NOT NULL,
	"hub" text NOT NULL,
	"caller_kind" text NOT NULL,
	"caller_name" text,
	"role" text,
	"token_id" text,
	"address" text NOT NULL,
	"method" text NOT NULL,
	"route" text,
	"path" text NOT NULL,
	"status" integer NOT NULL,
	"error" text,
	"times" integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX "audit_at_idx" ON "audit" USING btree ("at","audit_id");