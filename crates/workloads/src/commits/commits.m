commits	; Transactions whose acknowledgements somebody waits for: surefoot's load `commits` on GT.M.
	; Each entry reads its orders from standard input, a line each until an empty one, and answers on standard output.
	;   ^commits(id)       stream, number, revision and text of a row, with spaces between
	;   ^counters(stream)  the number of the stream's last commit
	quit
	;
load	; Orders: "counter stream" or "row id stream number text".
	new order
	for  read order quit:order=""  do
	. if $piece(order," ")="counter" set ^counters($piece(order," ",2))=0 quit
	. set ^commits($piece(order," ",2))=$piece(order," ",3,4)_" 0 "_$piece(order," ",5)
	write "loaded",!
	quit
	;
work	; Orders: "stream number id text row row row", of which each is a transaction and is answered when that is committed.
	new order,index,number
	write "ready",!
	for  read order quit:order=""  do
	. set number=$piece(order," ",2)
	. tstart ():serial
	. set ^commits($piece(order," ",3))=$piece(order," ",1,2)_" 0 "_$piece(order," ",4)
	. set ^counters($piece(order," "))=number
	. for index=5:1:$length(order," ") set $piece(^commits($piece(order," ",index))," ",3)=number
	. tcommit
	. write number,!
	quit
