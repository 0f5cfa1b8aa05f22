// Shows the API's description; "Execute" goes to this desk with the cookies of whoever is signed in here.
globalThis.SwaggerUIBundle({ url: "/api/openapi.json", dom_id: "#api", deepLinking: false, validatorUrl: null, docExpansion: "list" });
