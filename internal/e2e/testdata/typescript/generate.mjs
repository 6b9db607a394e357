// node generate.mjs: validates the OpenAPI documents in documents/ and exported/, and writes
// the TypeScript of those of the third version in documents/ to src/.
import fs from "node:fs";
import SwaggerParser from "@apidevtools/swagger-parser";
import openapiTS, { astToString } from "openapi-typescript";

const files = ["documents", "exported"].flatMap((folder) => fs.readdirSync(folder).map((name) => [folder, name]));
for (const [folder, name] of files) {
  const text = fs.readFileSync(`${folder}/${name}`, "utf8");
  try {
    await SwaggerParser.validate(JSON.parse(text));
    if (name === "v2.json" || folder === "exported") continue;
    const types = await openapiTS(JSON.parse(text), { defaultNonNullable: false, emptyObjectsUnknown: true });
    fs.writeFileSync(`src/${name.replace(".json", ".ts")}`, astToString(types));
  } catch (error) {
    console.error(`${folder}/${name}: ${error.message.slice(0, 2000)}`);
    process.exitCode = 1;
  }
}
