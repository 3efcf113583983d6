--
-- PostgreSQL database dump
--

\restrict LahudrbQPzgfVCR8oARdhOBNtJVqSzFgoPPMMnpbGexURwMurK3hsdTC53xmb4t

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: customers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.customers (
    id integer NOT NULL,
    name character(30) NOT NULL,
    spent bigint NOT NULL
);


--
-- Name: items; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.items (
    id integer NOT NULL,
    price integer NOT NULL,
    stock integer NOT NULL
);


--
-- Name: orders; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.orders (
    id integer NOT NULL,
    customer integer NOT NULL,
    item integer NOT NULL,
    price integer NOT NULL
);


--
-- Name: orders_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.orders_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: orders_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.orders_id_seq OWNED BY public.orders.id;


--
-- Name: orders id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders ALTER COLUMN id SET DEFAULT nextval('public.orders_id_seq'::regclass);


--
-- Data for Name: customers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.customers (id, name, spent) FROM stdin;
1	customer 1                    	0
2	customer 2                    	0
3	customer 3                    	0
4	customer 4                    	0
5	customer 5                    	0
6	customer 6                    	0
7	customer 7                    	0
8	customer 8                    	0
9	customer 9                    	0
10	customer 10                   	0
11	customer 11                   	0
12	customer 12                   	0
13	customer 13                   	0
14	customer 14                   	0
15	customer 15                   	0
16	customer 16                   	0
17	customer 17                   	0
18	customer 18                   	0
19	customer 19                   	0
20	customer 20                   	0
21	customer 21                   	0
22	customer 22                   	0
23	customer 23                   	0
24	customer 24                   	0
25	customer 25                   	0
26	customer 26                   	0
27	customer 27                   	0
28	customer 28                   	0
29	customer 29                   	0
30	customer 30                   	0
31	customer 31                   	0
32	customer 32                   	0
33	customer 33                   	0
34	customer 34                   	0
35	customer 35                   	0
36	customer 36                   	0
37	customer 37                   	0
38	customer 38                   	0
39	customer 39                   	0
40	customer 40                   	0
41	customer 41                   	0
42	customer 42                   	0
43	customer 43                   	0
44	customer 44                   	0
45	customer 45                   	0
46	customer 46                   	0
47	customer 47                   	0
48	customer 48                   	0
49	customer 49                   	0
50	customer 50                   	0
51	customer 51                   	0
52	customer 52                   	0
53	customer 53                   	0
54	customer 54                   	0
55	customer 55                   	0
56	customer 56                   	0
57	customer 57                   	0
58	customer 58                   	0
59	customer 59                   	0
60	customer 60                   	0
61	customer 61                   	0
62	customer 62                   	0
63	customer 63                   	0
64	customer 64                   	0
65	customer 65                   	0
66	customer 66                   	0
67	customer 67                   	0
68	customer 68                   	0
69	customer 69                   	0
70	customer 70                   	0
71	customer 71                   	0
72	customer 72                   	0
73	customer 73                   	0
74	customer 74                   	0
75	customer 75                   	0
76	customer 76                   	0
77	customer 77                   	0
78	customer 78                   	0
79	customer 79                   	0
80	customer 80                   	0
81	customer 81                   	0
82	customer 82                   	0
83	customer 83                   	0
84	customer 84                   	0
85	customer 85                   	0
86	customer 86                   	0
87	customer 87                   	0
88	customer 88                   	0
89	customer 89                   	0
90	customer 90                   	0
91	customer 91                   	0
92	customer 92                   	0
93	customer 93                   	0
94	customer 94                   	0
95	customer 95                   	0
96	customer 96                   	0
97	customer 97                   	0
98	customer 98                   	0
99	customer 99                   	0
100	customer 100                  	0
101	customer 101                  	0
102	customer 102                  	0
103	customer 103                  	0
104	customer 104                  	0
105	customer 105                  	0
106	customer 106                  	0
107	customer 107                  	0
108	customer 108                  	0
109	customer 109                  	0
110	customer 110                  	0
111	customer 111                  	0
112	customer 112                  	0
113	customer 113                  	0
114	customer 114                  	0
115	customer 115                  	0
116	customer 116                  	0
117	customer 117                  	0
118	customer 118                  	0
119	customer 119                  	0
120	customer 120                  	0
121	customer 121                  	0
122	customer 122                  	0
123	customer 123                  	0
124	customer 124                  	0
125	customer 125                  	0
126	customer 126                  	0
127	customer 127                  	0
128	customer 128                  	0
129	customer 129                  	0
130	customer 130                  	0
131	customer 131                  	0
132	customer 132                  	0
133	customer 133                  	0
134	customer 134                  	0
135	customer 135                  	0
136	customer 136                  	0
137	customer 137                  	0
138	customer 138                  	0
139	customer 139                  	0
140	customer 140                  	0
141	customer 141                  	0
142	customer 142                  	0
143	customer 143                  	0
144	customer 144                  	0
145	customer 145                  	0
146	customer 146                  	0
147	customer 147                  	0
148	customer 148                  	0
149	customer 149                  	0
150	customer 150                  	0
151	customer 151                  	0
152	customer 152                  	0
153	customer 153                  	0
154	customer 154                  	0
155	customer 155                  	0
156	customer 156                  	0
157	customer 157                  	0
158	customer 158                  	0
159	customer 159                  	0
160	customer 160                  	0
161	customer 161                  	0
162	customer 162                  	0
163	customer 163                  	0
164	customer 164                  	0
165	customer 165                  	0
166	customer 166                  	0
167	customer 167                  	0
168	customer 168                  	0
169	customer 169                  	0
170	customer 170                  	0
171	customer 171                  	0
172	customer 172                  	0
173	customer 173                  	0
174	customer 174                  	0
175	customer 175                  	0
176	customer 176                  	0
177	customer 177                  	0
178	customer 178                  	0
179	customer 179                  	0
180	customer 180                  	0
181	customer 181                  	0
182	customer 182                  	0
183	customer 183                  	0
184	customer 184                  	0
185	customer 185                  	0
186	customer 186                  	0
187	customer 187                  	0
188	customer 188                  	0
189	customer 189                  	0
190	customer 190                  	0
191	customer 191                  	0
192	customer 192                  	0
193	customer 193                  	0
194	customer 194                  	0
195	customer 195                  	0
196	customer 196                  	0
197	customer 197                  	0
198	customer 198                  	0
199	customer 199                  	0
200	customer 200                  	0
201	customer 201                  	0
202	customer 202                  	0
203	customer 203                  	0
204	customer 204                  	0
205	customer 205                  	0
206	customer 206                  	0
207	customer 207                  	0
208	customer 208                  	0
209	customer 209                  	0
210	customer 210                  	0
211	customer 211                  	0
212	customer 212                  	0
213	customer 213                  	0
214	customer 214                  	0
215	customer 215                  	0
216	customer 216                  	0
217	customer 217                  	0
218	customer 218                  	0
219	customer 219                  	0
220	customer 220                  	0
221	customer 221                  	0
222	customer 222                  	0
223	customer 223                  	0
224	customer 224                  	0
225	customer 225                  	0
226	customer 226                  	0
227	customer 227                  	0
228	customer 228                  	0
229	customer 229                  	0
230	customer 230                  	0
231	customer 231                  	0
232	customer 232                  	0
233	customer 233                  	0
234	customer 234                  	0
235	customer 235                  	0
236	customer 236                  	0
237	customer 237                  	0
238	customer 238                  	0
239	customer 239                  	0
240	customer 240                  	0
241	customer 241                  	0
242	customer 242                  	0
243	customer 243                  	0
244	customer 244                  	0
245	customer 245                  	0
246	customer 246                  	0
247	customer 247                  	0
248	customer 248                  	0
249	customer 249                  	0
250	customer 250                  	0
251	customer 251                  	0
252	customer 252                  	0
253	customer 253                  	0
254	customer 254                  	0
255	customer 255                  	0
256	customer 256                  	0
257	customer 257                  	0
258	customer 258                  	0
259	customer 259                  	0
260	customer 260                  	0
261	customer 261                  	0
262	customer 262                  	0
263	customer 263                  	0
264	customer 264                  	0
265	customer 265                  	0
266	customer 266                  	0
267	customer 267                  	0
268	customer 268                  	0
269	customer 269                  	0
270	customer 270                  	0
271	customer 271                  	0
272	customer 272                  	0
273	customer 273                  	0
274	customer 274                  	0
275	customer 275                  	0
276	customer 276                  	0
277	customer 277                  	0
278	customer 278                  	0
279	customer 279                  	0
280	customer 280                  	0
281	customer 281                  	0
282	customer 282                  	0
283	customer 283                  	0
284	customer 284                  	0
285	customer 285                  	0
286	customer 286                  	0
287	customer 287                  	0
288	customer 288                  	0
289	customer 289                  	0
290	customer 290                  	0
291	customer 291                  	0
292	customer 292                  	0
293	customer 293                  	0
294	customer 294                  	0
295	customer 295                  	0
296	customer 296                  	0
297	customer 297                  	0
298	customer 298                  	0
299	customer 299                  	0
300	customer 300                  	0
301	customer 301                  	0
302	customer 302                  	0
303	customer 303                  	0
304	customer 304                  	0
305	customer 305                  	0
306	customer 306                  	0
307	customer 307                  	0
308	customer 308                  	0
309	customer 309                  	0
310	customer 310                  	0
311	customer 311                  	0
312	customer 312                  	0
313	customer 313                  	0
314	customer 314                  	0
315	customer 315                  	0
316	customer 316                  	0
317	customer 317                  	0
318	customer 318                  	0
319	customer 319                  	0
320	customer 320                  	0
321	customer 321                  	0
322	customer 322                  	0
323	customer 323                  	0
324	customer 324                  	0
325	customer 325                  	0
326	customer 326                  	0
327	customer 327                  	0
328	customer 328                  	0
329	customer 329                  	0
330	customer 330                  	0
331	customer 331                  	0
332	customer 332                  	0
333	customer 333                  	0
334	customer 334                  	0
335	customer 335                  	0
336	customer 336                  	0
337	customer 337                  	0
338	customer 338                  	0
339	customer 339                  	0
340	customer 340                  	0
341	customer 341                  	0
342	customer 342                  	0
343	customer 343                  	0
344	customer 344                  	0
345	customer 345                  	0
346	customer 346                  	0
347	customer 347                  	0
348	customer 348                  	0
349	customer 349                  	0
350	customer 350                  	0
351	customer 351                  	0
352	customer 352                  	0
353	customer 353                  	0
354	customer 354                  	0
355	customer 355                  	0
356	customer 356                  	0
357	customer 357                  	0
358	customer 358                  	0
359	customer 359                  	0
360	customer 360                  	0
361	customer 361                  	0
362	customer 362                  	0
363	customer 363                  	0
364	customer 364                  	0
365	customer 365                  	0
366	customer 366                  	0
367	customer 367                  	0
368	customer 368                  	0
369	customer 369                  	0
370	customer 370                  	0
371	customer 371                  	0
372	customer 372                  	0
373	customer 373                  	0
374	customer 374                  	0
375	customer 375                  	0
376	customer 376                  	0
377	customer 377                  	0
378	customer 378                  	0
379	customer 379                  	0
380	customer 380                  	0
381	customer 381                  	0
382	customer 382                  	0
383	customer 383                  	0
384	customer 384                  	0
385	customer 385                  	0
386	customer 386                  	0
387	customer 387                  	0
388	customer 388                  	0
389	customer 389                  	0
390	customer 390                  	0
391	customer 391                  	0
392	customer 392                  	0
393	customer 393                  	0
394	customer 394                  	0
395	customer 395                  	0
396	customer 396                  	0
397	customer 397                  	0
398	customer 398                  	0
399	customer 399                  	0
400	customer 400                  	0
401	customer 401                  	0
402	customer 402                  	0
403	customer 403                  	0
404	customer 404                  	0
405	customer 405                  	0
406	customer 406                  	0
407	customer 407                  	0
408	customer 408                  	0
409	customer 409                  	0
410	customer 410                  	0
411	customer 411                  	0
412	customer 412                  	0
413	customer 413                  	0
414	customer 414                  	0
415	customer 415                  	0
416	customer 416                  	0
417	customer 417                  	0
418	customer 418                  	0
419	customer 419                  	0
420	customer 420                  	0
421	customer 421                  	0
422	customer 422                  	0
423	customer 423                  	0
424	customer 424                  	0
425	customer 425                  	0
426	customer 426                  	0
427	customer 427                  	0
428	customer 428                  	0
429	customer 429                  	0
430	customer 430                  	0
431	customer 431                  	0
432	customer 432                  	0
433	customer 433                  	0
434	customer 434                  	0
435	customer 435                  	0
436	customer 436                  	0
437	customer 437                  	0
438	customer 438                  	0
439	customer 439                  	0
440	customer 440                  	0
441	customer 441                  	0
442	customer 442                  	0
443	customer 443                  	0
444	customer 444                  	0
445	customer 445                  	0
446	customer 446                  	0
447	customer 447                  	0
448	customer 448                  	0
449	customer 449                  	0
450	customer 450                  	0
451	customer 451                  	0
452	customer 452                  	0
453	customer 453                  	0
454	customer 454                  	0
455	customer 455                  	0
456	customer 456                  	0
457	customer 457                  	0
458	customer 458                  	0
459	customer 459                  	0
460	customer 460                  	0
461	customer 461                  	0
462	customer 462                  	0
463	customer 463                  	0
464	customer 464                  	0
465	customer 465                  	0
466	customer 466                  	0
467	customer 467                  	0
468	customer 468                  	0
469	customer 469                  	0
470	customer 470                  	0
471	customer 471                  	0
472	customer 472                  	0
473	customer 473                  	0
474	customer 474                  	0
475	customer 475                  	0
476	customer 476                  	0
477	customer 477                  	0
478	customer 478                  	0
479	customer 479                  	0
480	customer 480                  	0
481	customer 481                  	0
482	customer 482                  	0
483	customer 483                  	0
484	customer 484                  	0
485	customer 485                  	0
486	customer 486                  	0
487	customer 487                  	0
488	customer 488                  	0
489	customer 489                  	0
490	customer 490                  	0
491	customer 491                  	0
492	customer 492                  	0
493	customer 493                  	0
494	customer 494                  	0
495	customer 495                  	0
496	customer 496                  	0
497	customer 497                  	0
498	customer 498                  	0
499	customer 499                  	0
500	customer 500                  	0
501	customer 501                  	0
502	customer 502                  	0
503	customer 503                  	0
504	customer 504                  	0
505	customer 505                  	0
506	customer 506                  	0
507	customer 507                  	0
508	customer 508                  	0
509	customer 509                  	0
510	customer 510                  	0
511	customer 511                  	0
512	customer 512                  	0
513	customer 513                  	0
514	customer 514                  	0
515	customer 515                  	0
516	customer 516                  	0
517	customer 517                  	0
518	customer 518                  	0
519	customer 519                  	0
520	customer 520                  	0
521	customer 521                  	0
522	customer 522                  	0
523	customer 523                  	0
524	customer 524                  	0
525	customer 525                  	0
526	customer 526                  	0
527	customer 527                  	0
528	customer 528                  	0
529	customer 529                  	0
530	customer 530                  	0
531	customer 531                  	0
532	customer 532                  	0
533	customer 533                  	0
534	customer 534                  	0
535	customer 535                  	0
536	customer 536                  	0
537	customer 537                  	0
538	customer 538                  	0
539	customer 539                  	0
540	customer 540                  	0
541	customer 541                  	0
542	customer 542                  	0
543	customer 543                  	0
544	customer 544                  	0
545	customer 545                  	0
546	customer 546                  	0
547	customer 547                  	0
548	customer 548                  	0
549	customer 549                  	0
550	customer 550                  	0
551	customer 551                  	0
552	customer 552                  	0
553	customer 553                  	0
554	customer 554                  	0
555	customer 555                  	0
556	customer 556                  	0
557	customer 557                  	0
558	customer 558                  	0
559	customer 559                  	0
560	customer 560                  	0
561	customer 561                  	0
562	customer 562                  	0
563	customer 563                  	0
564	customer 564                  	0
565	customer 565                  	0
566	customer 566                  	0
567	customer 567                  	0
568	customer 568                  	0
569	customer 569                  	0
570	customer 570                  	0
571	customer 571                  	0
572	customer 572                  	0
573	customer 573                  	0
574	customer 574                  	0
575	customer 575                  	0
576	customer 576                  	0
577	customer 577                  	0
578	customer 578                  	0
579	customer 579                  	0
580	customer 580                  	0
581	customer 581                  	0
582	customer 582                  	0
583	customer 583                  	0
584	customer 584                  	0
585	customer 585                  	0
586	customer 586                  	0
587	customer 587                  	0
588	customer 588                  	0
589	customer 589                  	0
590	customer 590                  	0
591	customer 591                  	0
592	customer 592                  	0
593	customer 593                  	0
594	customer 594                  	0
595	customer 595                  	0
596	customer 596                  	0
597	customer 597                  	0
598	customer 598                  	0
599	customer 599                  	0
600	customer 600                  	0
601	customer 601                  	0
602	customer 602                  	0
603	customer 603                  	0
604	customer 604                  	0
605	customer 605                  	0
606	customer 606                  	0
607	customer 607                  	0
608	customer 608                  	0
609	customer 609                  	0
610	customer 610                  	0
611	customer 611                  	0
612	customer 612                  	0
613	customer 613                  	0
614	customer 614                  	0
615	customer 615                  	0
616	customer 616                  	0
617	customer 617                  	0
618	customer 618                  	0
619	customer 619                  	0
620	customer 620                  	0
621	customer 621                  	0
622	customer 622                  	0
623	customer 623                  	0
624	customer 624                  	0
625	customer 625                  	0
626	customer 626                  	0
627	customer 627                  	0
628	customer 628                  	0
629	customer 629                  	0
630	customer 630                  	0
631	customer 631                  	0
632	customer 632                  	0
633	customer 633                  	0
634	customer 634                  	0
635	customer 635                  	0
636	customer 636                  	0
637	customer 637                  	0
638	customer 638                  	0
639	customer 639                  	0
640	customer 640                  	0
641	customer 641                  	0
642	customer 642                  	0
643	customer 643                  	0
644	customer 644                  	0
645	customer 645                  	0
646	customer 646                  	0
647	customer 647                  	0
648	customer 648                  	0
649	customer 649                  	0
650	customer 650                  	0
651	customer 651                  	0
652	customer 652                  	0
653	customer 653                  	0
654	customer 654                  	0
655	customer 655                  	0
656	customer 656                  	0
657	customer 657                  	0
658	customer 658                  	0
659	customer 659                  	0
660	customer 660                  	0
661	customer 661                  	0
662	customer 662                  	0
663	customer 663                  	0
664	customer 664                  	0
665	customer 665                  	0
666	customer 666                  	0
667	customer 667                  	0
668	customer 668                  	0
669	customer 669                  	0
670	customer 670                  	0
671	customer 671                  	0
672	customer 672                  	0
673	customer 673                  	0
674	customer 674                  	0
675	customer 675                  	0
676	customer 676                  	0
677	customer 677                  	0
678	customer 678                  	0
679	customer 679                  	0
680	customer 680                  	0
681	customer 681                  	0
682	customer 682                  	0
683	customer 683                  	0
684	customer 684                  	0
685	customer 685                  	0
686	customer 686                  	0
687	customer 687                  	0
688	customer 688                  	0
689	customer 689                  	0
690	customer 690                  	0
691	customer 691                  	0
692	customer 692                  	0
693	customer 693                  	0
694	customer 694                  	0
695	customer 695                  	0
696	customer 696                  	0
697	customer 697                  	0
698	customer 698                  	0
699	customer 699                  	0
700	customer 700                  	0
701	customer 701                  	0
702	customer 702                  	0
703	customer 703                  	0
704	customer 704                  	0
705	customer 705                  	0
706	customer 706                  	0
707	customer 707                  	0
708	customer 708                  	0
709	customer 709                  	0
710	customer 710                  	0
711	customer 711                  	0
712	customer 712                  	0
713	customer 713                  	0
714	customer 714                  	0
715	customer 715                  	0
716	customer 716                  	0
717	customer 717                  	0
718	customer 718                  	0
719	customer 719                  	0
720	customer 720                  	0
721	customer 721                  	0
722	customer 722                  	0
723	customer 723                  	0
724	customer 724                  	0
725	customer 725                  	0
726	customer 726                  	0
727	customer 727                  	0
728	customer 728                  	0
729	customer 729                  	0
730	customer 730                  	0
731	customer 731                  	0
732	customer 732                  	0
733	customer 733                  	0
734	customer 734                  	0
735	customer 735                  	0
736	customer 736                  	0
737	customer 737                  	0
738	customer 738                  	0
739	customer 739                  	0
740	customer 740                  	0
741	customer 741                  	0
742	customer 742                  	0
743	customer 743                  	0
744	customer 744                  	0
745	customer 745                  	0
746	customer 746                  	0
747	customer 747                  	0
748	customer 748                  	0
749	customer 749                  	0
750	customer 750                  	0
751	customer 751                  	0
752	customer 752                  	0
753	customer 753                  	0
754	customer 754                  	0
755	customer 755                  	0
756	customer 756                  	0
757	customer 757                  	0
758	customer 758                  	0
759	customer 759                  	0
760	customer 760                  	0
761	customer 761                  	0
762	customer 762                  	0
763	customer 763                  	0
764	customer 764                  	0
765	customer 765                  	0
766	customer 766                  	0
767	customer 767                  	0
768	customer 768                  	0
769	customer 769                  	0
770	customer 770                  	0
771	customer 771                  	0
772	customer 772                  	0
773	customer 773                  	0
774	customer 774                  	0
775	customer 775                  	0
776	customer 776                  	0
777	customer 777                  	0
778	customer 778                  	0
779	customer 779                  	0
780	customer 780                  	0
781	customer 781                  	0
782	customer 782                  	0
783	customer 783                  	0
784	customer 784                  	0
785	customer 785                  	0
786	customer 786                  	0
787	customer 787                  	0
788	customer 788                  	0
789	customer 789                  	0
790	customer 790                  	0
791	customer 791                  	0
792	customer 792                  	0
793	customer 793                  	0
794	customer 794                  	0
795	customer 795                  	0
796	customer 796                  	0
797	customer 797                  	0
798	customer 798                  	0
799	customer 799                  	0
800	customer 800                  	0
801	customer 801                  	0
802	customer 802                  	0
803	customer 803                  	0
804	customer 804                  	0
805	customer 805                  	0
806	customer 806                  	0
807	customer 807                  	0
808	customer 808                  	0
809	customer 809                  	0
810	customer 810                  	0
811	customer 811                  	0
812	customer 812                  	0
813	customer 813                  	0
814	customer 814                  	0
815	customer 815                  	0
816	customer 816                  	0
817	customer 817                  	0
818	customer 818                  	0
819	customer 819                  	0
820	customer 820                  	0
821	customer 821                  	0
822	customer 822                  	0
823	customer 823                  	0
824	customer 824                  	0
825	customer 825                  	0
826	customer 826                  	0
827	customer 827                  	0
828	customer 828                  	0
829	customer 829                  	0
830	customer 830                  	0
831	customer 831                  	0
832	customer 832                  	0
833	customer 833                  	0
834	customer 834                  	0
835	customer 835                  	0
836	customer 836                  	0
837	customer 837                  	0
838	customer 838                  	0
839	customer 839                  	0
840	customer 840                  	0
841	customer 841                  	0
842	customer 842                  	0
843	customer 843                  	0
844	customer 844                  	0
845	customer 845                  	0
846	customer 846                  	0
847	customer 847                  	0
848	customer 848                  	0
849	customer 849                  	0
850	customer 850                  	0
851	customer 851                  	0
852	customer 852                  	0
853	customer 853                  	0
854	customer 854                  	0
855	customer 855                  	0
856	customer 856                  	0
857	customer 857                  	0
858	customer 858                  	0
859	customer 859                  	0
860	customer 860                  	0
861	customer 861                  	0
862	customer 862                  	0
863	customer 863                  	0
864	customer 864                  	0
865	customer 865                  	0
866	customer 866                  	0
867	customer 867                  	0
868	customer 868                  	0
869	customer 869                  	0
870	customer 870                  	0
871	customer 871                  	0
872	customer 872                  	0
873	customer 873                  	0
874	customer 874                  	0
875	customer 875                  	0
876	customer 876                  	0
877	customer 877                  	0
878	customer 878                  	0
879	customer 879                  	0
880	customer 880                  	0
881	customer 881                  	0
882	customer 882                  	0
883	customer 883                  	0
884	customer 884                  	0
885	customer 885                  	0
886	customer 886                  	0
887	customer 887                  	0
888	customer 888                  	0
889	customer 889                  	0
890	customer 890                  	0
891	customer 891                  	0
892	customer 892                  	0
893	customer 893                  	0
894	customer 894                  	0
895	customer 895                  	0
896	customer 896                  	0
897	customer 897                  	0
898	customer 898                  	0
899	customer 899                  	0
900	customer 900                  	0
901	customer 901                  	0
902	customer 902                  	0
903	customer 903                  	0
904	customer 904                  	0
905	customer 905                  	0
906	customer 906                  	0
907	customer 907                  	0
908	customer 908                  	0
909	customer 909                  	0
910	customer 910                  	0
911	customer 911                  	0
912	customer 912                  	0
913	customer 913                  	0
914	customer 914                  	0
915	customer 915                  	0
916	customer 916                  	0
917	customer 917                  	0
918	customer 918                  	0
919	customer 919                  	0
920	customer 920                  	0
921	customer 921                  	0
922	customer 922                  	0
923	customer 923                  	0
924	customer 924                  	0
925	customer 925                  	0
926	customer 926                  	0
927	customer 927                  	0
928	customer 928                  	0
929	customer 929                  	0
930	customer 930                  	0
931	customer 931                  	0
932	customer 932                  	0
933	customer 933                  	0
934	customer 934                  	0
935	customer 935                  	0
936	customer 936                  	0
937	customer 937                  	0
938	customer 938                  	0
939	customer 939                  	0
940	customer 940                  	0
941	customer 941                  	0
942	customer 942                  	0
943	customer 943                  	0
944	customer 944                  	0
945	customer 945                  	0
946	customer 946                  	0
947	customer 947                  	0
948	customer 948                  	0
949	customer 949                  	0
950	customer 950                  	0
951	customer 951                  	0
952	customer 952                  	0
953	customer 953                  	0
954	customer 954                  	0
955	customer 955                  	0
956	customer 956                  	0
957	customer 957                  	0
958	customer 958                  	0
959	customer 959                  	0
960	customer 960                  	0
961	customer 961                  	0
962	customer 962                  	0
963	customer 963                  	0
964	customer 964                  	0
965	customer 965                  	0
966	customer 966                  	0
967	customer 967                  	0
968	customer 968                  	0
969	customer 969                  	0
970	customer 970                  	0
971	customer 971                  	0
972	customer 972                  	0
973	customer 973                  	0
974	customer 974                  	0
975	customer 975                  	0
976	customer 976                  	0
977	customer 977                  	0
978	customer 978                  	0
979	customer 979                  	0
980	customer 980                  	0
981	customer 981                  	0
982	customer 982                  	0
983	customer 983                  	0
984	customer 984                  	0
985	customer 985                  	0
986	customer 986                  	0
987	customer 987                  	0
988	customer 988                  	0
989	customer 989                  	0
990	customer 990                  	0
991	customer 991                  	0
992	customer 992                  	0
993	customer 993                  	0
994	customer 994                  	0
995	customer 995                  	0
996	customer 996                  	0
997	customer 997                  	0
998	customer 998                  	0
999	customer 999                  	0
1000	customer 1000                 	0
\.


--
-- Data for Name: items; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.items (id, price, stock) FROM stdin;
1	38	1000000
2	75	1000000
3	112	1000000
4	149	1000000
5	186	1000000
6	223	1000000
7	260	1000000
8	297	1000000
9	334	1000000
10	371	1000000
11	408	1000000
12	445	1000000
13	482	1000000
14	519	1000000
15	556	1000000
16	593	1000000
17	630	1000000
18	667	1000000
19	704	1000000
20	741	1000000
21	778	1000000
22	815	1000000
23	852	1000000
24	889	1000000
25	926	1000000
26	963	1000000
27	1000	1000000
28	1037	1000000
29	1074	1000000
30	1111	1000000
31	1148	1000000
32	1185	1000000
33	1222	1000000
34	1259	1000000
35	1296	1000000
36	1333	1000000
37	1370	1000000
38	1407	1000000
39	1444	1000000
40	1481	1000000
41	1518	1000000
42	1555	1000000
43	1592	1000000
44	1629	1000000
45	1666	1000000
46	1703	1000000
47	1740	1000000
48	1777	1000000
49	1814	1000000
50	1851	1000000
51	1888	1000000
52	1925	1000000
53	1962	1000000
54	1999	1000000
55	2036	1000000
56	2073	1000000
57	2110	1000000
58	2147	1000000
59	2184	1000000
60	2221	1000000
61	2258	1000000
62	2295	1000000
63	2332	1000000
64	2369	1000000
65	2406	1000000
66	2443	1000000
67	2480	1000000
68	2517	1000000
69	2554	1000000
70	2591	1000000
71	2628	1000000
72	2665	1000000
73	2702	1000000
74	2739	1000000
75	2776	1000000
76	2813	1000000
77	2850	1000000
78	2887	1000000
79	2924	1000000
80	2961	1000000
81	2998	1000000
82	3035	1000000
83	3072	1000000
84	3109	1000000
85	3146	1000000
86	3183	1000000
87	3220	1000000
88	3257	1000000
89	3294	1000000
90	3331	1000000
91	3368	1000000
92	3405	1000000
93	3442	1000000
94	3479	1000000
95	3516	1000000
96	3553	1000000
97	3590	1000000
98	3627	1000000
99	3664	1000000
100	3701	1000000
\.


--
-- Data for Name: orders; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.orders (id, customer, item, price) FROM stdin;
\.


--
-- Name: orders_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.orders_id_seq', 1, false);


--
-- Name: customers customers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_pkey PRIMARY KEY (id);


--
-- Name: items items_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (id);


--
-- Name: orders orders_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);


--
-- Name: orders_of_customer; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX orders_of_customer ON public.orders USING btree (customer);


--
-- Name: orders orders_customer_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_customer_fkey FOREIGN KEY (customer) REFERENCES public.customers(id);


--
-- Name: orders orders_item_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_item_fkey FOREIGN KEY (item) REFERENCES public.items(id);


--
-- PostgreSQL database dump complete
--

\unrestrict LahudrbQPzgfVCR8oARdhOBNtJVqSzFgoPPMMnpbGexURwMurK3hsdTC53xmb4t

