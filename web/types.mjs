// Writes src/api.ts: the requests and answers of the studio, from the Python that defines them. `node types.mjs --to
// FILE` writes elsewhere, which is how a test finds out whether what is committed is what Python says.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";
import { format } from "prettier";

const here = dirname(fileURLToPath(import.meta.url));
const to = process.argv[2] === "--to" ? process.argv[3] : join(here, "src/api.ts");
const own = join(here, "../.venv/bin/python");
const python = process.env.PYTHON ?? (existsSync(own) ? own : "python3");
const PRINT = "import sys; from regard.studio.schema.verbs import schema_text; sys.stdout.write(schema_text())";
const text = execFileSync(python, ["-c", PRINT], { encoding: "utf8", maxBuffer: 2 ** 26 });
const schema = JSON.parse(text);

const interfaces = await compile(schema, "Verbs", {
  bannerComment: "",
  additionalProperties: false,
  unreachableDefinitions: true,
  format: false,
});
const plain = interfaces.replace(/\n \*\s*\n \* This interface was referenced by[\s\S]*?\n \*\//g, "\n */");
const banner = `// What page and studio send each other, made by \`npm run types\` from src/regard/studio/schema.
// schema ${createHash("sha256").update(text).digest("hex")}

`;
writeFileSync(to, await format(banner + plain, { parser: "typescript", printWidth: 118 }));
