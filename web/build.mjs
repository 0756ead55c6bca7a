// Builds the studio's page into the Python package: one script, one style sheet, one page. `node build.mjs --to FOLDER`
// builds elsewhere, which is how a test finds out whether what is committed is what the sources give.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const to = process.argv[2] === "--to" ? process.argv[3] : join(here, "../src/regard/studio/static");

/** Every file the bundle is made of, in an order that no machine changes. tests/house/test_bundle.py does the same. */
function sources() {
  const found = ["index.html", "style.css", "package.json", "build.mjs"];
  const walk = (folder) => {
    for (const entry of readdirSync(join(here, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) walk(path);
      else if (/\.(ts|css)$/.test(entry.name)) found.push(path);
    }
  };
  walk("src");
  return found.sort();
}

const digest = createHash("sha256");
for (const path of sources()) {
  digest.update(`${path}\0`);
  digest.update(readFileSync(join(here, path)));
  digest.update("\0");
}
const banner = `/* regard studio; sources ${digest.digest("hex")} */`;

mkdirSync(to, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { studio: "src/main.ts" },
  outdir: to,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  banner: { js: banner },
  logLevel: "warning",
});
await build({
  absWorkingDir: here,
  entryPoints: { studio: "style.css" },
  outdir: to,
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  banner: { css: banner },
  logLevel: "warning",
});
writeFileSync(join(to, "index.html"), readFileSync(join(here, "index.html")));
const size = ["studio.js", "studio.css"].reduce((sum, name) => sum + readFileSync(join(to, name)).length, 0);
console.log(`${relative(process.cwd(), to) || "."}: ${(size / 1024).toFixed(0)} KB of script and style`);
