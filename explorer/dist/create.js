import{D as e,E as t,c as n,i as r,k as i,o as a,r as o,s}from"./keys.js";import{A as c,E as l,F as u,j as d,n as f,y as p}from"./explorer.js";import{B as m,H as h,O as g,U as _,V as v,a as y,i as b,k as x,n as S,o as C,r as w}from"./textbox.js";var T=`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.example.com # the plural name, and the group
spec:
  group: example.com
  scope: Namespaced # or Cluster
  names:
    plural: boats
    singular: boat
    kind: Boat
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [length]
              properties:
                length:
                  type: integer
                  minimum: 1
                sails:
                  type: integer
                  default: 1
              x-kubernetes-validations:
                - rule: self.sails * 5 <= self.length
                  message: too many sails for its length
`;function E(e){return c(e)===`apiextensions.k8s.io/v1`&&e.kind===`CustomResourceDefinition`?T:void 0}function D({kind:e,namespace:t}){let n=e.namespaced?t||`default`:``,r=l(async()=>{let t=E(e);if(t)return t;let r={apiVersion:c(e),kind:e.kind,metadata:n?{name:``,namespace:n}:{name:``}};return m(C(await y(e).catch(()=>void 0),r))},[e,n]);return r.value===void 0?s(`main`,{class:`page`,children:[s(o,{error:r.error}),s(`p`,{class:`soft`,role:`status`,children:`Reading the schema…`})]}):s(O,{kind:e,namespace:n,begin:r.value})}function O({kind:l,namespace:y,begin:C}){let T=`new ${c(l)} ${l.resource}`,{box:E,schema:D}=b(l),[O]=e(()=>h.get(T)?.text??C),[k,A]=e(C),[j,M]=e(!1),[N,P]=e(),[F,I]=e([]),[L,R]=e(),z=t(!1);_(T,E,k);let B=e=>{I(e),E.refuse(e)},V=async e=>{if(z.current)return;z.current=!0,M(!0),P(void 0),R(void 0);let t=null;try{t=E.object().value;let n=t.metadata,r=await g(l,n?.namespace??y,t,e);if(B([]),e){R(m(v(r)));return}A(E.read()),u(l)&&d(),a(`Created ${l.kind} ${r.metadata.name}`),p(f(l,{namespace:r.metadata.namespace??``,name:r.metadata.name??``}))}catch(e){if(n(e))return;P(e),B(x(e,t))}finally{z.current=!1,M(!1)}};return s(`main`,{class:`page`,children:[s(`h1`,{children:[`New `,l.kind]}),s(w,{box:E,schema:D,text:O,label:`New ${l.kind}`}),s(S,{box:E,list:F}),s(o,{error:N}),L!==void 0&&s(i,{children:[s(r,{kind:`good`,children:`The server would store this:`}),s(`pre`,{class:`terminal`,tabIndex:0,children:L})]}),s(`div`,{class:`row`,children:[s(`button`,{type:`button`,disabled:j,onClick:()=>void V(!0),children:`Preview`}),s(`button`,{type:`button`,class:`primary`,disabled:j,onClick:()=>void V(!1),children:j?`Waiting…`:`Create`}),s(`button`,{type:`button`,class:`quiet`,disabled:j,onClick:()=>{E.write(C),B([]),R(void 0),P(void 0)},children:`Discard changes`})]})]})}export{D as Create};